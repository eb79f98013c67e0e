package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"weir/class"
)

type classInfoOutput struct {
	SetCookie *http.Cookie `header:"Set-Cookie"`
	Body      classInfo
}

type classesOutput struct {
	Body struct {
		Classes []classInfo `json:"classes"`
	}
}

type auditOutput struct {
	Body struct {
		Audit []classAudited `json:"audit"`
		// Names are of people by id, of those too who were merged into another.
		Names map[string]string `json:"names"`
	}
}

type newClassInput struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"400"`
		Zone string `json:"zone,omitempty" maxLength:"64" doc:"IANA name; UTC without one."`
	}
}

// classLives is how long a class is kept after it was made, unless its instructor says otherwise.
const classLives = 270 * 24 * time.Hour

// makeClass makes a class and the token of its instructor.
func (c *course) makeClass(ctx context.Context, name, zone string) (*class.Class, string, error) {
	if zone == "" {
		zone = "UTC"
	}
	if _, err := class.Zone(zone); err != nil {
		return nil, "", err
	}
	name, err := class.CleanName(name)
	if err != nil {
		return nil, "", err
	}
	now := time.Now().UTC()
	token, hash := class.NewToken()
	k := class.Class{ID: class.NewID(), Name: name, Code: class.NewCode(), Zone: zone, State: class.Open, Created: now, Expires: now.Add(classLives), TokenHash: hash}
	return &k, token, c.store.CreateClass(ctx, k)
}

// taughtRoutes are for the class itself and for having several.
func (s *Server) taughtRoutes(api huma.API) {
	tags := []string{"class"}
	huma.Register(api, huma.Operation{
		OperationID: "get-class", Method: http.MethodGet, Path: "/api/v1/class", Tags: tags,
		Summary: "The class, with its code and where to join", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, _ *struct{}) (*classInfoOutput, error) {
		return s.infoNow(ctx, callerOf(ctx))
	})
	huma.Register(api, huma.Operation{
		OperationID: "change-class", Method: http.MethodPatch, Path: "/api/v1/class", Tags: tags, MaxBodyBytes: 8 << 10,
		Summary: "Changes the class: its name, zone, state, scoreboard, and whether learners' runs may be driven", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, in *struct{ Body classChange }) (*classInfoOutput, error) {
		who := callerOf(ctx)
		if err := s.course.store.UpdateClass(ctx, who.Class, in.Body.apply); err != nil {
			return nil, storeProblem(err)
		}
		s.course.audit(ctx, who, "change class", in.Body.String())
		return s.infoNow(ctx, who)
	})
	huma.Register(api, huma.Operation{
		OperationID: "delete-class", Method: http.MethodDelete, Path: "/api/v1/class", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Deletes a class that was closed, with all people and results", Extensions: calledBy(callerWall),
	}, s.deleteClass)
	huma.Register(api, huma.Operation{
		OperationID: "get-qr", Method: http.MethodGet, Path: "/api/v1/class/qr.png", Tags: tags,
		Summary: "The join address as a QR code", Responses: fileResponse("image/png", binaryFile), Extensions: calledBy(callerWall),
	}, func(ctx context.Context, _ *struct{}) (*fileOutput, error) {
		v, err := s.course.view(ctx, callerOf(ctx).Class)
		if err != nil {
			return nil, err
		}
		b, err := qrOf(s.infoOf(v, requestOf(ctx)).Join[0])
		if err != nil {
			return nil, err
		}
		return &fileOutput{"image/png", "inline", "no-store", b}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-audit", Method: http.MethodGet, Path: "/api/v1/class/audit", Tags: tags,
		Summary: "What was done to the class, newest first", Extensions: calledBy(callerWall),
	}, s.auditLog)
	huma.Register(api, huma.Operation{
		OperationID: "list-classes", Method: http.MethodGet, Path: "/api/v1/classes", Tags: tags,
		Summary: "The classes whose instructor links this browser has opened", Extensions: calledBy(callerWall),
	}, func(ctx context.Context, _ *struct{}) (*classesOutput, error) {
		out := &classesOutput{}
		out.Body.Classes = []classInfo{}
		for _, who := range s.course.heldBy(ctx, requestOf(ctx)) {
			v, err := s.course.view(ctx, who.Class)
			if err != nil {
				return nil, err
			}
			out.Body.Classes = append(out.Body.Classes, s.infoOf(v, requestOf(ctx)))
		}
		return out, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "make-class", Method: http.MethodPost, Path: "/api/v1/classes", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: 8 << 10,
		Summary: "Makes another class on this server; its link is told once", Extensions: calledBy(callerWall),
	}, s.newClass)
	huma.Register(api, huma.Operation{
		OperationID: "enter-class", Method: http.MethodPost, Path: "/api/v1/classes/{id}/enter", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Has this browser look at another of its classes", Extensions: calledBy(callerWall),
	}, s.enterClass)
}

// deleteClass removes a class that was closed, with its sessions.
func (s *Server) deleteClass(ctx context.Context, _ *struct{}) (*struct{}, error) {
	who := callerOf(ctx)
	k, err := s.course.store.ClassByID(ctx, who.Class)
	if err != nil {
		return nil, storeProblem(err)
	}
	if k.State == class.Open {
		return nil, newProblem(http.StatusConflict, "state", "the class is open: close it first, and export what is to be kept")
	}
	if err := s.course.store.DeleteClass(ctx, who.Class); err != nil {
		return nil, storeProblem(err)
	}
	s.log.Info("class deleted", "class", who.Class)
	s.endAllOf(who.Class, "")
	return nil, nil
}

// auditLog shows what was done to the class, with the names of whom it was about.
func (s *Server) auditLog(ctx context.Context, _ *struct{}) (*auditOutput, error) {
	all, err := s.course.store.AuditLog(ctx, callerOf(ctx).Class)
	if err != nil {
		return nil, storeProblem(err)
	}
	out := &auditOutput{}
	out.Body.Audit, out.Body.Names = []classAudited{}, map[string]string{}
	for _, list := range []func(context.Context, string) ([]class.Person, error){s.course.store.People, s.course.store.Merged} {
		people, err := list(ctx, callerOf(ctx).Class)
		if err != nil {
			return nil, storeProblem(err)
		}
		for i := range people {
			out.Body.Names[people[i].ID] = people[i].Name
		}
	}
	for _, a := range newestFirst(all, func(a class.Audited) time.Time { return a.At }) {
		out.Body.Audit = append(out.Body.Audit, classAudited{At: a.At, Who: a.Who, What: a.What, About: a.About})
	}
	return out, nil
}

// newClass makes one more class, whose instructor this browser then is.
func (s *Server) newClass(ctx context.Context, in *newClassInput) (*classInfoOutput, error) {
	if !s.course.requests.take("classes "+addressOf(requestOf(ctx)), 20, 0.01) {
		return nil, newProblem(http.StatusTooManyRequests, "", "20 classes were made just now: wait a little")
	}
	k, token, err := s.course.makeClass(ctx, in.Body.Name, in.Body.Zone)
	if err != nil {
		return nil, storeProblem(err)
	}
	who := &caller{Kind: instructor, Class: k.ID, token: token}
	s.course.audit(ctx, who, "make class", k.Name)
	out, err := s.infoNow(ctx, who)
	if err != nil {
		return nil, err
	}
	r := requestOf(ctx)
	out.Body.Link = originOf(r) + "/class/i/" + token
	// The new class comes last in the cookie: the browser still looks at the one before.
	held, _, _ := shownTokens(r)
	if len(held) < mostClassesHeld {
		out.SetCookie = cookieFor(r, instructorCookie, strings.Join(append(held, token), "."), k.Expires)
	}
	return out, nil
}

// enterClass puts another of the classes that the browser holds first.
func (s *Server) enterClass(ctx context.Context, in *classIDInput) (*cookieOutput, error) {
	r := requestOf(ctx)
	for _, who := range s.course.heldBy(ctx, r) {
		if who.Class == in.ID {
			return &cookieOutput{[]*http.Cookie{cookieFor(r, instructorCookie, s.course.heldWith(r, who.token), time.Now().Add(classLives))}}, nil
		}
	}
	return nil, newProblem(http.StatusNotFound, "id", "this browser has not opened the link of such a class")
}

// heldBy are the classes that a request shows tokens of.
func (c *course) heldBy(ctx context.Context, r *http.Request) []*caller {
	held, _, bearer := shownTokens(r)
	var all []*caller
	for _, t := range append(held, bearer) {
		if t == "" {
			continue
		}
		if who, err := c.whoHas(ctx, t); err == nil && who != nil && who.Kind == instructor {
			all = append(all, who)
		}
	}
	return all
}

func (c *classChange) apply(k *class.Class) error {
	if c.Name != nil {
		name, err := class.CleanName(*c.Name)
		if err != nil {
			return err
		}
		k.Name = name
	}
	if c.Zone != nil {
		if _, err := class.Zone(*c.Zone); err != nil {
			return err
		}
		k.Zone = *c.Zone
	}
	if c.State != nil {
		k.State = class.State(*c.State)
	}
	if c.Scoreboard != nil {
		k.Scoreboard = *c.Scoreboard
	}
	if c.MayDrive != nil {
		k.MayDrive = *c.MayDrive
	}
	if c.Expires != nil {
		if !c.Expires.After(time.Now()) || c.Expires.Year() > 9999 {
			return newProblem(http.StatusUnprocessableEntity, "expires", "give a moment that lies ahead")
		}
		k.Expires = c.Expires.UTC()
	}
	return nil
}

// String says for the audit log what was changed.
func (c *classChange) String() string {
	var said []string
	for name, set := range map[string]bool{"name": c.Name != nil, "zone": c.Zone != nil, "expires": c.Expires != nil} {
		if set {
			said = append(said, name)
		}
	}
	for name, to := range map[string]*bool{"scoreboard": c.Scoreboard, "mayDrive": c.MayDrive} {
		if to != nil {
			said = append(said, name+map[bool]string{true: " on", false: " off"}[*to])
		}
	}
	if c.State != nil {
		said = append(said, "state "+*c.State)
	}
	slices.Sort(said)
	return strings.Join(said, ", ")
}

func (s *Server) infoNow(ctx context.Context, who *caller) (*classInfoOutput, error) {
	v, err := s.course.fresh(ctx, who.Class)
	if err != nil {
		return nil, err
	}
	return &classInfoOutput{Body: s.infoOf(v, requestOf(ctx))}, nil
}

// infoOf is a class as its instructor has it. The address that the instructor's own browser uses comes first, unless that
// is this machine's own, which no learner reaches.
func (s *Server) infoOf(v *roomView, r *http.Request) classInfo {
	k := &v.class
	info := classInfo{classPublic: publicOf(k), Code: class.ShowCode(k.Code), People: len(v.people), Created: k.Created, Expires: k.Expires}
	info.Join = joinAddresses(s.course.addresses, r, k.Code)
	return info
}
