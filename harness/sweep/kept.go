package sweep

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// keptFolder is where [Publish] puts the runs that a page is written of: TO/runs/FOLDER.journal.gz.
const (
	keptFolder = "runs"
	keptEnd    = ".journal.gz"
)

// maxKept bounds the file of an experiment, chosen by us. What has more runs makes each of them fast,
// and all anew.
const maxKept = 1 << 20

// keep puts the runs of an experiment beside the page, for others to go on from, unless there are very
// many.
func (r record) keep(dir, to string) error {
	data, err := readJournal(filepath.Join(dir, r.folder, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // only what was made of them is there
	}
	var b bytes.Buffer
	if err == nil {
		zip, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that there is
		_, err = zip.Write(data)
		err = errors.Join(err, zip.Close())
	}
	path := filepath.Join(to, keptFolder, r.folder+keptEnd)
	if err == nil && b.Len() > maxKept {
		if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err != nil {
		return err
	}
	return replace(path, b.Bytes())
}

// Restore puts the runs beside a page that [Publish] has written into folders of dir, for [Settling]
// and [Experiment.Run] to go on from. A folder that has runs keeps its own. Restore returns of how
// many experiments it has put them there.
func Restore(page, dir string) (n int, err error) {
	paths, err := filepath.Glob(filepath.Join(page, keptFolder, "*"+keptEnd))
	if err != nil {
		return 0, err
	}
	if len(paths) == 0 {
		return 0, fmt.Errorf("%s has no runs: name the folder of claims.md", filepath.Join(page, keptFolder))
	}
	for _, path := range paths {
		to := filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), keptEnd), journalName)
		if _, err = os.Lstat(to); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return n, err
		}
		data, err := unzip(path)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = safefile.Write(to, data)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func unzip(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data []byte
	zip, err := gzip.NewReader(f)
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(zip, maxJournal))
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w: fetch it anew, or remove it and its runs are made anew", path, err)
	}
	return data, nil
}
