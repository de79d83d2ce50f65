package sweep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// journalName is the file in which runs are noted that have ended. Each line is a checksum (CRC-32,
// IEEE, of what follows it), a space, and JSON; the first is a header. Lines are only ever added,
// so that a kill or a full disk can tear the last one at most.
const journalName = "runs.journal"

// maxJournal bounds a journal that is read, chosen by us: maxRuns lines have a quarter of it.
const maxJournal = 4 << 30

// header says what the runs of a journal have in common.
type header struct {
	Experiment string            `json:"experiment"`
	Settings   map[string]string `json:"settings"` // what all runs have in common, as far as no axis is about it
	Columns    []string          `json:"columns"`
	Version    string            `json:"version"` // of the program that began it
}

// entry is a run that has ended.
type entry struct {
	Key     string `json:"k"`
	Cells   row    `json:"c"`
	Version string `json:"v,omitempty"` // that made it, if another than the header's
}

// file is what a journal needs of an *os.File.
type file interface {
	io.Writer
	Truncate(size int64) error
	Close() error
}

type journal struct {
	path    string
	lock    *flock.Flock
	file    file
	good    int64 // bytes of whole lines
	done    map[string]row
	by      map[string]string // versions by key, of runs that another has made than the one that began it
	began   string            // version of the program that began it
	version string            // ours
}

// openJournal takes the folder for this run alone, and reads what earlier runs have done.
func openJournal(dir string, h header) (_ *journal, err error) {
	j := &journal{
		path: filepath.Join(dir, journalName), done: map[string]row{}, by: map[string]string{}, version: h.Version,
	}
	j.lock = safefile.NewLock(j.path, 0o644)
	got, err := j.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", j.path, err)
	}
	if !got {
		return nil, fmt.Errorf("%s is in use by another run: wait for its end, or name another folder with --out", dir)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.lock.Close())
		}
	}()
	data, err := readJournal(j.path)
	if err != nil {
		return nil, err
	}
	if err := j.read(data, h); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND|safefile.NoFollow, 0o644)
	if err != nil {
		return nil, err
	}
	j.file = f
	if j.good == 0 {
		err = foreign(dir, h.Experiment)
	}
	if err == nil {
		err = f.Truncate(j.good) // a torn line goes
	}
	if err == nil && j.good == 0 {
		j.began = h.Version
		err = j.write(h)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

func readJournal(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxJournal {
		return nil, fmt.Errorf("%s is not a journal of ours: name another folder with --out, or remove it", path)
	}
	return os.ReadFile(path)
}

// read takes in all whole lines.
func (j *journal) read(data []byte, ours header) error {
	number := 0
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		body, err := unseal(line)
		if err != nil || !whole {
			if len(rest) == 0 && (number > 0 || tornHeader(line)) {
				return nil // torn: the process or the machine ended while it was written
			}
			return fmt.Errorf(
				"%s:%d: %w: the file is damaged: remove it and all runs start anew, or cut it off before this line", j.path,
				number+1, err)
		}
		number++
		if number == 1 {
			err = j.begin(body, ours)
		} else {
			var e entry
			if err = json.Unmarshal(body, &e); err == nil {
				err = e.Cells.check()
			}
			if err != nil {
				err = fmt.Errorf("%s:%d: not a run: %w: remove the file, and all runs start anew", j.path, number, err)
			}
			j.keep(e)
		}
		if err != nil {
			return err
		}
		j.good += int64(len(line)) + 1
		data = rest
	}
	return nil
}

// tornHeader reports whether the only line of a file can be what was written of a header, so that
// nothing of somebody else's is taken away with it.
func tornHeader(line []byte) bool {
	sum := line[:min(len(line), sumDigits)]
	if strings.Trim(string(sum), "0123456789abcdef") != "" {
		return false
	}
	const begins = ` {"experiment":`
	rest := string(line[len(sum):])
	return strings.HasPrefix(rest, begins) || strings.HasPrefix(begins, rest)
}

// foreign reports a file that stands where results are to go and is of no sweep of that experiment.
func foreign(dir, experiment string) error {
	if r, err := readRecord(dir); err == nil && r.Experiment == experiment {
		return nil
	}
	for _, name := range []string{recordName, readmeName, comparisonName, runsName, summaryName} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return fmt.Errorf("%s holds a %s, and no %s of a run that has written it: name another folder with --out, or "+
				"move that file", dir, name, journalName)
		}
	}
	return nil
}

// begin compares the header with that of the experiment as it is now.
func (j *journal) begin(body []byte, ours header) error {
	var h header
	if err := json.Unmarshal(body, &h); err != nil {
		return fmt.Errorf("%s: not a journal of ours (%w): name another folder with --out, or remove it", j.path, err)
	}
	const advice = "name another folder with --out, or remove the file, and all runs start anew"
	if h.Experiment != ours.Experiment {
		return fmt.Errorf("%s is of experiment %q, not %q: %s", j.path, h.Experiment, ours.Experiment, advice)
	}
	if !slices.Equal(h.Columns, ours.Columns) {
		return fmt.Errorf("%s was written by version %s, whose results have other columns: %s", j.path, h.Version, advice)
	}
	var changed []string
	for _, name := range append([]string{"measure", "seed"}, settingNames...) {
		if was, is := h.Settings[name], ours.Settings[name]; was != is {
			changed = append(changed, fmt.Sprintf("%s was %s and is %s", name, orNothing(was), orNothing(is)))
		}
	}
	if len(changed) > 0 {
		return fmt.Errorf("%s: the experiment has changed since these runs: %s: %s", j.path, strings.Join(changed, ", "),
			advice)
	}
	j.began = h.Version
	return nil
}

func orNothing(text string) string { return cmp.Or(text, "not given") }

// add notes a run.
func (j *journal) add(key string, cells row) error {
	e := entry{Key: key, Cells: cells}
	if j.version != j.began {
		e.Version = orUnknown(j.version)
	}
	if err := j.write(e); err != nil {
		return err
	}
	j.keep(e)
	return nil
}

// keep remembers a run.
func (j *journal) keep(e entry) {
	j.done[e.Key] = e.Cells
	if delete(j.by, e.Key); e.Version != "" {
		j.by[e.Key] = e.Version
	}
}

// madeBy is the version of the program that made a run.
func (j *journal) madeBy(key string) string { return cmp.Or(j.by[key], orUnknown(j.began)) }

// write adds a line. When that fails, what was written of it is taken away again; if that fails
// too, the next run sees that it is torn.
func (j *journal) write(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	line := append(seal(body), '\n')
	if _, err := j.file.Write(line); err != nil {
		_ = j.file.Truncate(j.good)
		return fmt.Errorf("a run cannot be noted: %w: make room or mend that, and the same command goes on", err)
	}
	j.good += int64(len(line))
	return nil
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.lock.Close()) }

const sumDigits = 8

func seal(body []byte) []byte {
	return fmt.Appendf(nil, "%0*x %s", sumDigits, crc32.ChecksumIEEE(body), body)
}

var errSum = errors.New("the checksum is wrong")

func unseal(line []byte) ([]byte, error) {
	if len(line) < sumDigits+1 {
		return nil, errSum
	}
	body := line[sumDigits+1:]
	if !bytes.Equal(seal(body), line) {
		return nil, errSum
	}
	return body, nil
}
