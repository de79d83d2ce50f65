module weft.example/firmware

go 1.24
