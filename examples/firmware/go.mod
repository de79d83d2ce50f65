module example.org/around

go 1.26.3

require github.com/weft-fabric/weft v0.0.0

// Weft is taken from a clone: name the folder of yours.
replace github.com/weft-fabric/weft => ../..
