module example.com/clockwise

go 1.26.0

require github.com/weft-fabric/weft v0.0.0

replace github.com/weft-fabric/weft => ../../..
