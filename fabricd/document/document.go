package document

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
	"github.com/weft-fabric/weft/fabricd/inputs"
)

// MaxSize is the largest file read, in bytes. Chosen by us: four times the JSON listing of a
// 36-port 3-tree, 11664 NICs.
const MaxSize = 16 << 20

// ErrTooLarge is wrapped by the error for a file larger than [MaxSize].
var ErrTooLarge = errors.New("file too large")

// Doc is a decoded file, kept to find the place of a value. It is read-only and safe for concurrent
// use.
type Doc struct {
	file     string
	data     []byte
	root     ast.Node
	warnings []string
}

// File is the name the document was loaded under.
func (d *Doc) File() string { return d.file }

// Text is what the document was loaded from.
func (d *Doc) Text() string { return string(d.data) }

// Warnings says of every field that goes by its old name where it stands, and its new name.
func (d *Doc) Warnings() []string { return d.warnings }

// Read loads the file of that name into a T. See [Load] for the errors; those of the file system
// are wrapped.
func Read[T any](file string) (*Doc, T, error) {
	data, err := Bytes(file)
	if err != nil {
		var zero T
		return nil, zero, err
	}
	return Load[T](file, data)
}

// Load decodes data, strictly, into a T; file is the name used in errors. Fields are named by their
// yaml tag, else by their json tag, else by the lower-case Go name; one without omitempty must be
// there. A field with the tag was:"name" may have that name too, with a warning. The error is one
// [*Error], or several joined by [Errors].
func Load[T any](file string, data []byte) (*Doc, T, error) {
	var v T
	d := &Doc{file: file, data: data}
	if len(data) > MaxSize {
		return nil, v, fmt.Errorf("%s: %d bytes, expected at most %d: %w", file, len(data), MaxSize, ErrTooLarge)
	}
	if err := d.parse(); err != nil {
		return nil, v, err
	}
	if err := d.check(reflect.TypeFor[T]()); err != nil {
		return nil, v, err
	}
	if err := d.decode(&v); err != nil {
		var zero T
		return nil, zero, err
	}
	return d, v, nil
}

// Bytes reads a file of at most [MaxSize] bytes that is not YAML. Errors name it.
func Bytes(file string) ([]byte, error) {
	f, err := inputs.Open(file)
	if err != nil {
		return nil, err // names the file
	}
	defer f.Close()
	// One byte more than allowed, so that a pipe or a device is bounded too and the excess is seen.
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err // likewise
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%s: more than %d bytes: %w", file, MaxSize, ErrTooLarge)
	}
	return data, nil
}

// parse fills d.root.
func (d *Doc) parse() (err error) {
	defer d.recovered(&err)
	tokens := lexer.Tokenize(string(d.data))
	if err := d.guard(tokens); err != nil {
		return err
	}
	f, err := parser.Parse(tokens, 0)
	if err != nil {
		return d.translate(err)
	}
	var body ast.Node
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return d.errorAt(place(doc.Body), errors.New("a second document, expected one document per file"))
		}
		body = doc.Body
	}
	if body == nil {
		return d.errorAt(Position{File: d.file, Line: 1, Column: 1}, errors.New("nothing here, expected a YAML document"))
	}
	d.root = body
	return nil
}

func (d *Doc) decode(v any) (err error) {
	defer d.recovered(&err)
	if err := yaml.NodeToValue(d.root, v, yaml.Strict()); err != nil {
		return d.translate(err)
	}
	return nil
}

// recovered turns a panic of the YAML library, which is not ours to mend, into an error about the
// file: bad input must never stop the process.
func (d *Doc) recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: cannot be read as YAML (%v)", d.file, r)
	}
}

// translate gives an error of the YAML library our form.
func (d *Doc) translate(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	ye, ok := errors.AsType[yaml.Error](err)
	if !ok || ye.GetToken() == nil {
		return fmt.Errorf("%s: %w", d.file, err)
	}
	tk := ye.GetToken()
	pos := Position{File: d.file}
	if tk.Position != nil {
		pos.Line, pos.Column = tk.Position.Line, tk.Position.Column
	}
	if over, ok := errors.AsType[*yaml.OverflowError](err); ok {
		return d.errorAt(pos, fmt.Errorf("%s is out of range, expected %s", nearest.Clip(over.SrcNum),
			Describe(over.DstType)))
	}
	if typ, ok := errors.AsType[*yaml.TypeError](err); ok {
		return d.errorAt(pos, fmt.Errorf("found %s, expected %s", nearest.Clip(tk.Value), Describe(typ.DstType)))
	}
	return d.errorAt(pos, errors.New(explain(ye.GetMessage())))
}
