package subpartition

// edgesScript has what rarely meets: two barriers in one queue, a barrier in front of an empty buffer, and a priority event
// that comes while the queue is blocked.
const edgesScript = `
Add(0, Barrier) = true
Add(1, Barrier)
Add(2, Data)
Written(7, true)
Poll() = {ID 0, Bytes 0, Gone, Backlog 0, Next None}
Resume()
Available(false) = true # the second barrier
Poll() = {ID 1, Bytes 0, Gone, Backlog 0, Next None}
Available(true) = false
Backlog() = 0
Add(3, Priority) = true
Available(false) = true
Poll() = {ID 3, Bytes 0, Gone, Backlog 0, Next None}
Poll() = nothing
Resume()
Available(true) = true
Poll() = {ID 2, Bytes 7, Gone, Backlog 0, Next None}

Add(0, Barrier) = true
Poll() = {ID 0, Bytes 0, Gone, Backlog 0, Next None}
Add(1, Data)
Written(0, true)
Add(2, Event)
Resume()
Poll() = {ID 2, Bytes 0, Gone, Backlog 0, Next None}
Poll() = nothing
`
