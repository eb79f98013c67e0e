package web

import (
	"encoding/json"
	"time"
)

// The JSON of a class. Times are RFC 3339 in UTC; a time that is not set is left out. Callers:
//
//	anyone      POST   /api/v1/class/join {code, name, alias?}          201 classMe, and the cookie; 403 wrong code, 429 after many wrong ones
//	            GET    /class/p/{token}                                 personal link: cookie, 303 to /class
//	            GET    /class/i/{token}                                 instructor link: cookie, 303 to /class
//	learner,    GET    /api/v1/class/me                                 classMe
//	instructor  GET    /api/v1/class/live                               websocket: classLive, whole, each time it changes
//	            POST   /api/v1/class/leave                              204, the cookie goes
//	            GET    /api/v1/class/scoreboard                         {rows: [classScore]}; 404 while it is off and the caller is a learner
//	            GET    /api/v1/class/deadlines                          {deadlines: [classDeadline]}; a learner's have their extension in due
//	            GET    /api/v1/class/results                            {results: [classResult], equal?}; a learner's own
//	            GET    /api/v1/class/results/{id}/work                  what was handed in, application/json; a learner's own
//	learner     PATCH  /api/v1/class/me {alias?, hand?}                 classMe
//	            DELETE /api/v1/class/line                               204: leaves the line before a full server
//	            PUT    /api/v1/class/me/place classPlaceBody            204: which page is looked at; sent when it changes and each 20 s
//	            GET    /api/v1/class/me/export                          all that is kept of the learner
//	            DELETE /api/v1/class/me                                 204, with all that is kept
//	            POST   /api/v1/class/results classResultBody            201 classResult, 200 when it was kept before
//	            POST   /api/v1/class/questions/{id}/answers {choice}    201 classQuestion with mine; 200 when answered before: the first counts
//	instructor  GET    /api/v1/class                                    classInfo
//	            PATCH  /api/v1/class classChange                        classInfo
//	            DELETE /api/v1/class                                    204, with people and results; the class has to be closed first
//	            GET    /api/v1/class/qr.png                             the join address
//	            GET    /api/v1/class/wall                               classWall
//	            GET    /api/v1/class/wall/stream                        websocket, 2 Hz: classWall, then what changed, merged as a session's stream is
//	            GET    /api/v1/class/people                             {people: [classPerson]}
//	            PATCH  /api/v1/class/people/{id} {name?, alias?, hand?} classPerson
//	            DELETE /api/v1/class/people/{id}                        204
//	            POST   /api/v1/class/people/{id}/link                   {link}: a new personal link; the old one and the cookie end
//	            POST   /api/v1/class/people/merge {from, into}          204
//	            POST   /api/v1/class/spotlight {session}                classLive; an empty session ends it
//	            POST   /api/v1/class/lab {lab, knobs}                   classLive: every page opens it with these knobs; an empty lab ends it
//	            POST   /api/v1/class/freeze {frozen}                    classLive
//	            POST   /api/v1/class/timer {minutes}                    classLive: all pages count down; 0 ends it
//	            GET    /api/v1/class/questions                          {questions: [classQuestion]}, newest first, with counts
//	            POST   /api/v1/class/questions classQuestionBody        201 classQuestion; the one asked before ends
//	            POST   /api/v1/class/questions/{id}/close               classQuestion
//	            POST   /api/v1/class/questions/{id}/run                 201 {id}: starts the run that decides and puts the spotlight on it
//	            PUT    /api/v1/class/deadlines/{exercise} {due, penalty} classDeadline; penalty 0 to 100 percent of a late result, 100 takes none
//	            PUT    /api/v1/class/deadlines/{exercise}/extensions/{person} {due} 204
//	            GET    /api/v1/class/export?format=csv|json|gradescope  the grade book
//	            GET    /api/v1/class/audit                              {audit: [classAudited]}, newest first
//	            GET    /api/v1/classes                                  {classes: [classInfo]}: those whose links this browser has opened
//	            POST   /api/v1/classes {name, zone}                     201 classInfo with link; the browser's cookie has it from then on
//	            POST   /api/v1/classes/{id}/enter                       204: the class that this browser looks at
//
// Starting a session (POST /api/v1/sessions) when the server is full answers 429 with a problem that has place, from 1:
// an open page of the class keeps it, or asking again within 15 s. A frozen class answers 423 to knobs, actions and starts of learners.

// classMe is who asks.
type classMe struct {
	Kind  string      `json:"kind" enum:"learner,instructor"`
	Class classPublic `json:"class"`
	// The rest is a learner's.
	ID       string     `json:"id,omitempty"`
	Name     string     `json:"name,omitempty"`
	Alias    string     `json:"alias,omitempty"`
	Hand     *time.Time `json:"hand,omitempty"`
	Token    string     `json:"token,omitempty" doc:"for labserver check --submit URL --token T"`
	Link     string     `json:"link,omitempty" doc:"The personal link: opens the class as this learner in another browser."`
	Sessions int        `json:"sessions" doc:"Jobs that a learner may run at once."`
	Engine   string     `json:"engine,omitempty" doc:"The version of this server, for those who run the engine on their own machine."`
	Live     classLive  `json:"live"`
}

// classPublic is what every member knows of the class.
type classPublic struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Zone       string `json:"zone" doc:"IANA name; deadlines are shown in it."`
	State      string `json:"state" enum:"open,closed,archived"`
	Scoreboard bool   `json:"scoreboard"`
	MayDrive   bool   `json:"mayDrive" doc:"The instructor may change a learner's run."`
}

// classInfo is the class as its instructor has it.
type classInfo struct {
	classPublic
	Code    string    `json:"code" doc:"To join; shown in two groups of four."`
	Join    []string  `json:"join" doc:"Addresses of the join page with the code in them."`
	Link    string    `json:"link,omitempty" doc:"The instructor's link; only right after the class was made."`
	People  int       `json:"people"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// classChange changes what is given.
type classChange struct {
	Name       *string    `json:"name,omitempty" maxLength:"100"`
	Zone       *string    `json:"zone,omitempty" maxLength:"64"`
	State      *string    `json:"state,omitempty" enum:"open,closed,archived"`
	Scoreboard *bool      `json:"scoreboard,omitempty"`
	MayDrive   *bool      `json:"mayDrive,omitempty"`
	Expires    *time.Time `json:"expires,omitempty"`
}

// classLive is what the instructor has all pages do, and what is open now. Version counts the changes.
type classLive struct {
	Version   int64          `json:"version"`
	Lab       string         `json:"lab,omitempty"`
	Knobs     map[string]any `json:"knobs,omitempty"`
	Spotlight string         `json:"spotlight,omitempty" doc:"The session that every page follows."`
	// SpotlightLab is its lab, for the address of the page.
	SpotlightLab string         `json:"spotlightLab,omitempty"`
	Frozen       bool           `json:"frozen,omitempty"`
	State        string         `json:"state" enum:"open,closed,archived"`
	Question     *classQuestion `json:"question,omitempty"`
	Hand         bool           `json:"hand,omitempty" doc:"Whether the learner's own hand is up."`
	Line         int            `json:"line,omitempty" doc:"The learner's place in the line before a full server, from 1."`
	Turn         bool           `json:"turn,omitempty" doc:"The learner waits in line, and the job may start now."`
	// Until is what the pages count down to.
	Until *time.Time `json:"until,omitempty"`
	// Trouble tells that the store does not answer: the rest is the last that it gave.
	Trouble bool `json:"trouble,omitempty"`
	// Away tells, on a learner's own machine, why the class is not heard: away or revoked.
	Away string `json:"away,omitempty"`
	// Now is the server's clock, for what counts down; the stream does not send for it alone.
	Now time.Time `json:"now"`
}

// classQuestion is a prediction asked of all.
type classQuestion struct {
	ID      string         `json:"id"`
	Text    string         `json:"text"`
	Choices []string       `json:"choices"`
	Lab     string         `json:"lab,omitempty"`
	Knobs   map[string]any `json:"knobs,omitempty"`
	Asked   time.Time      `json:"asked"`
	Ended   *time.Time     `json:"ended,omitempty"`
	// Counts are the answers by choice: the instructor's always, a learner's once the question ended.
	Counts []int `json:"counts,omitempty"`
	Of     int   `json:"of,omitempty" doc:"People in the class, with counts."`
	Mine   *int  `json:"mine,omitempty" doc:"The learner's own answer, from 0."`
}

type classQuestionBody struct {
	Text    string         `json:"text" minLength:"1" maxLength:"500"`
	Choices []string       `json:"choices" minItems:"2" maxItems:"8"`
	Lab     string         `json:"lab,omitempty" doc:"The run that decides: its lab and knobs."`
	Knobs   map[string]any `json:"knobs,omitempty"`
}

// classPlaceBody is what a learner's page says of itself. A session has to be the learner's own.
type classPlaceBody struct {
	Lab      string `json:"lab,omitempty" maxLength:"64"`
	Step     string `json:"step,omitempty" enum:"predict,run,observe,explain,done,"`
	Exercise string `json:"exercise,omitempty" maxLength:"64"`
	Session  string `json:"session,omitempty" maxLength:"64"`
	// Own is there when the learner runs the engine on their own machine.
	Own *classOwn `json:"own,omitempty"`
}

// classWall is the instructor's wall.
type classWall struct {
	Live   classLive  `json:"live"`
	Class  classInfo  `json:"class"`
	Rows   []classRow `json:"rows" doc:"Who is stuck comes first: hands by when they went up, then by seconds without progress."`
	Steps  classSteps `json:"steps"`
	Server classLoad  `json:"server"`
	// Trouble is set while the store does not answer: rows are then the last that it gave.
	Trouble string `json:"trouble,omitempty"`
}

// classSteps counts learners by where they are.
type classSteps struct {
	Predict int `json:"predict"`
	Run     int `json:"run"`
	Observe int `json:"observe"`
	Explain int `json:"explain"`
	Done    int `json:"done"`
}

// classLoad is how full this server is.
type classLoad struct {
	Sessions int `json:"sessions"`
	Limit    int `json:"limit"`
	Queue    int `json:"queue"`
	Viewers  int `json:"viewers"`
}

// classRow is one learner on the wall.
type classRow struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Alias    string `json:"alias,omitempty"`
	Online   bool   `json:"online" doc:"Was heard of within the last minute."`
	HandFor  int    `json:"handFor,omitempty" doc:"Seconds since the hand went up, at least 1."`
	Lab      string `json:"lab,omitempty"`
	Step     string `json:"step,omitempty"`
	Exercise string `json:"exercise,omitempty"`
	// ExerciseStatus is the best result of that exercise.
	ExerciseStatus string     `json:"exerciseStatus,omitempty"`
	Session        string     `json:"session,omitempty"`
	Here           bool       `json:"here" doc:"The session runs on a server that is there: it can be opened."`
	Claims         []string   `json:"claims,omitempty" doc:"Of the session's lab, in its order: shown, open or the like."`
	Shown          int        `json:"shown"`
	Of             int        `json:"of"`
	Stuck          int        `json:"stuck" doc:"Seconds without progress."`
	Mini           *classMini `json:"mini,omitempty"`
	Points         int        `json:"points"`
	Line           int        `json:"line,omitempty" doc:"The learner's place in the line before this server, from 1."`
	Own            bool       `json:"own,omitempty" doc:"The learner runs the engine on their own machine: no run of it can be opened here."`
	Answer         *int       `json:"answer,omitempty" doc:"To the question asked last, from 0."`
}

// classMini is the miniature of a session.
type classMini struct {
	State      string    `json:"state"`
	TimeMs     int64     `json:"timeMs"`
	RecordsPer float64   `json:"recordsPerSecond"`
	Busy       []float64 `json:"busy" doc:"Of each vertex, the busiest subtask, 0 to 1."`
	Pressed    []float64 `json:"pressed" doc:"Of each vertex, the most back-pressured subtask, 0 to 1."`
	Checkpoint int64     `json:"checkpointMs,omitempty" doc:"End-to-end duration of the last completed one."`
	Durations  []int64   `json:"durations,omitempty" doc:"Of the last completed checkpoints, oldest first, at most 10."`
	Bottleneck string    `json:"bottleneck,omitempty"`
	Changes    int       `json:"changes" doc:"Knob changes so far."`
	Held       bool      `json:"held,omitempty" doc:"A breakpoint holds a thread."`
}

// classPerson is a learner in the list of people.
type classPerson struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Alias    string          `json:"alias,omitempty"`
	Joined   time.Time       `json:"joined"`
	Seen     time.Time       `json:"seen"`
	Hand     *time.Time      `json:"hand,omitempty"`
	Merged   string          `json:"merged,omitempty"`
	Progress json.RawMessage `json:"progress"`
	Results  []classResult   `json:"results"`
	Sessions []classSession  `json:"sessions"`
}

type classSession struct {
	ID      string    `json:"id"`
	Lab     string    `json:"lab"`
	State   string    `json:"state"`
	Started time.Time `json:"started"`
}

// classResultBody is a check's result with the work, as labserver check --submit sends it too. Fields beyond these are
// kept with the report.
type classResultBody struct {
	_ struct{} `json:"-" additionalProperties:"true"`

	ID        string           `json:"id" doc:"Made before sending, so that what is sent twice is kept once."`
	Exercise  string           `json:"exercise"`
	Status    string           `json:"status"`
	Points    int              `json:"points"`
	MaxPoints int              `json:"maxPoints"`
	Engine    string           `json:"engine,omitempty"`
	Sent      *time.Time       `json:"sent,omitempty" doc:"When the learner handed it in, by their clock; kept beside the server's own."`
	Checks    json.RawMessage  `json:"checks,omitempty"`
	Work      *json.RawMessage `json:"work,omitempty"`
}

// classResult is a result that was kept.
type classResult struct {
	ID        string    `json:"id"`
	Person    string    `json:"person"`
	Name      string    `json:"name,omitempty" doc:"For the instructor."`
	Exercise  string    `json:"exercise"`
	Status    string    `json:"status"`
	Points    int       `json:"points"`
	MaxPoints int       `json:"maxPoints"`
	Judged    string    `json:"judged" enum:"verified,reported" doc:"verified: by this server."`
	Late      bool      `json:"late"`
	Engine    string    `json:"engine,omitempty"`
	Sent      time.Time `json:"sent"`
	Received  time.Time `json:"received"`
}

type classDeadline struct {
	Exercise   string           `json:"exercise"`
	Due        time.Time        `json:"due"`
	Penalty    int              `json:"penalty"`
	Extensions []classExtension `json:"extensions,omitempty" doc:"For the instructor."`
}

type classExtension struct {
	Person string    `json:"person"`
	Due    time.Time `json:"due"`
}

type classScore struct {
	Alias  string `json:"alias"`
	Points int    `json:"points"`
	Passed int    `json:"passed"`
	Me     bool   `json:"me,omitempty"`
}

type classAudited struct {
	At    time.Time `json:"at"`
	Who   string    `json:"who"`
	What  string    `json:"what"`
	About string    `json:"about,omitempty"`
}
