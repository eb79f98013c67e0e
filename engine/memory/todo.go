package memory

// todo is what a call has left to do for one pool once it holds no lock.
type todo struct {
	pool      *LocalPool
	available func()       // the hook, when the pool turned available
	woken     []*LocalPool // pools that waited for the global pool
	serve     bool         // listeners wait while a segment is ready
}

func (t *todo) run() {
	if t.available != nil {
		t.available()
	}
	for _, p := range t.woken {
		p.globalAvailable()
	}
	if t.serve {
		t.pool.serveListeners()
	}
}

type todoList []todo

func (l todoList) run() {
	for i := range l {
		l[i].run()
	}
}

func wake(pools []*LocalPool) {
	for _, p := range pools {
		p.globalAvailable()
	}
}
