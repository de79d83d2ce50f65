-- Wireshark dissector for captures of Weft fabrics (linkmon capture): link type 147, USER0. The layout is documented in
-- https://pkg.go.dev/github.com/weft-fabric/weft/linkmon/capture and in docs/howto/trace.md.
--
-- Use: wireshark -X lua_script:weft.lua FILE, or put it into the folder of personal Lua plugins (Help, About, Folders).

local weft = Proto("weft", "Weft fabric")

local kinds = { [1] = "packet", [2] = "mark" }
local states = {
  [0] = "up", [1] = "cut", [2] = "cut silently", [3] = "impaired", [4] = "down", [5] = "coming up",
}
local port_fields = { [-1] = "none", [-2] = "down" }

local f = weft.fields
f.version = ProtoField.uint8("weft.version", "Version")
f.kind = ProtoField.uint8("weft.kind", "Kind", base.DEC, kinds)
f.traced = ProtoField.bool("weft.traced", "Traced", 8, nil, 0x01)
f.state = ProtoField.uint8("weft.state", "State of the direction", base.DEC, states)
f.vc = ProtoField.uint8("weft.vc", "Virtual channel")
f.era = ProtoField.uint16("weft.era", "Era")
f.src = ProtoField.uint32("weft.src", "Source NIC")
f.dst = ProtoField.uint32("weft.dst", "Destination NIC")
f.src_name = ProtoField.string("weft.src_name", "Source")
f.dst_name = ProtoField.string("weft.dst_name", "Destination")
f.seq = ProtoField.uint64("weft.seq", "Sequence number in the flow")
f.injected = ProtoField.int64("weft.injected", "Generated (ps since the fabric started)")
f.size = ProtoField.uint32("weft.size", "Size in bytes")
f.hops = ProtoField.uint16("weft.hops", "Switches crossed")
f.reroutes = ProtoField.uint16("weft.reroutes", "Hops rerouted")
f.port_field = ProtoField.int16("weft.port_field", "Port field", base.DEC, port_fields)
f.index = ProtoField.uint16("weft.frame.index", "Position in the frame")
f.packets = ProtoField.uint16("weft.frame.packets", "Packets in the frame")
f.misroute = ProtoField.uint64("weft.misroute", "Misroute vector", base.HEX)
f.path = ProtoField.uint16("weft.path", "Path: the address of the destination")
f.layers = ProtoField.uint16("weft.layers", "Layers to move between", base.HEX)
f.from = ProtoField.uint32("weft.epoch", "Epoch of the sender")
f.to = ProtoField.uint32("weft.peer_epoch", "Epoch of the receiver")
f.sent = ProtoField.uint64("weft.sent", "Sent before in this VC and epoch")
f.limit = ProtoField.uint64("weft.limit", "Credit limit of the other direction")
f.route = ProtoField.string("weft.route", "Source route")
f.sub = ProtoField.string("weft.sub", "Sub-headers")
f.flow = ProtoField.string("weft.flow", "Flow")
f.text = ProtoField.string("weft.text", "Text")

local e = weft.experts
e.version = ProtoExpert.new("weft.unknown_version", "Layout of another version", expert.group.UNDECODED, expert.severity.WARN)
e.short = ProtoExpert.new("weft.short", "Record cut short", expert.group.MALFORMED, expert.severity.ERROR)
e.rerouted = ProtoExpert.new("weft.rerouted", "Sent another way because of a fault", expert.group.SEQUENCE, expert.severity.NOTE)
e.fault = ProtoExpert.new("weft.fault", "Something happened to the link", expert.group.SEQUENCE, expert.severity.WARN)

-- name adds a text with a length of one byte and returns where the next begins, or nothing when it is cut short.
local function name(tree, field, buf, at)
  if at >= buf:len() then return nil end
  local n = buf(at, 1):uint()
  if at + 1 + n > buf:len() then return nil end
  if n == 0 then
    tree:add(field, buf(at, 1), "")
    return at + 1, ""
  end
  tree:add(field, buf(at + 1, n))
  return at + 1 + n, buf(at + 1, n):string()
end

local function mark(buf, pinfo, tree)
  if buf:len() < 6 or buf:len() < 6 + buf(4, 2):uint() then return tree:add_proto_expert_info(e.short) end
  local n = buf(4, 2):uint()
  local text = n > 0 and buf(6, n):string() or ""
  if n > 0 then tree:add(f.text, buf(6, n)) end
  tree:add_proto_expert_info(e.fault, text)
  tree:append_text(", mark: " .. text)
  pinfo.cols.info = "-- " .. text:gsub("\n", " ")
end

-- fixed is by version how many bytes a packet has before its route.
local fixed_of = { 78, 82, 83, 83 }

-- bits are n bits of a sub-header, of which the lowest is bit i, counted from the lowest of all.
local function bits(word, i, n) return word:bitfield(64 - i - n, n) end

-- sub_header prints one as weft.SubHeaders does: where it leads, d without adaptive routing, the other ways round, misroutes.
local function sub_header(word, last)
  if bits(word, 42, 1) == 1 then return "nowhere" end
  local text = last and "end" or tostring(bits(word, 0, 16))
  if bits(word, 16, 1) == 1 then text = text .. ",d" end
  for i = 0, 3 do
    if bits(word, 17 + i, 1) == 1 then text = text .. ",o" .. i end
  end
  for i = 21, 35, 7 do
    local hops = bits(word, i, 4)
    if hops > 0 then text = text .. ",p" .. bits(word, i + 4, 3) .. "x" .. hops end
  end
  return text
end

local function packet(buf, pinfo, tree, root)
  local version = buf(0, 1):uint()
  local fixed = fixed_of[version]
  if buf:len() < fixed then return tree:add_proto_expert_info(e.short) end
  tree:add(f.vc, buf(4, 1))
  tree:add(f.era, buf(6, 2))
  tree:add(f.src, buf(8, 4))
  tree:add(f.dst, buf(12, 4))
  tree:add(f.seq, buf(16, 8))
  tree:add(f.injected, buf(24, 8))
  tree:add(f.size, buf(32, 4))
  tree:add(f.hops, buf(36, 2))
  local reroutes = tree:add(f.reroutes, buf(38, 2))
  if buf(38, 2):uint() > 0 then reroutes:add_proto_expert_info(e.rerouted) end
  tree:add(f.port_field, buf(40, 2))
  tree:add(f.misroute, buf(46, 8))
  local ports, route = buf(5, 1):uint(), {}
  local subs, sub = version >= 3 and buf(82, 1):uint() or 0, {}
  local names = fixed + ports + 8 * subs
  if names > buf:len() then return tree:add_proto_expert_info(e.short) end
  for i = 1, ports do route[i] = "p" .. buf(fixed - 1 + i, 1):uint() end
  if ports > 0 then tree:add(f.route, buf(fixed, ports), table.concat(route, ",")) end
  for i = 1, subs do sub[i] = sub_header(buf(fixed + ports + 8 * (i - 1), 8), i == subs) end
  if subs > 0 then tree:add(f.sub, buf(fixed + ports, 8 * subs), table.concat(sub, ";")) end
  tree:add(f.index, buf(42, 2))
  tree:add(f.packets, buf(44, 2))
  tree:add(f.from, buf(54, 4))
  tree:add(f.to, buf(58, 4))
  tree:add(f.sent, buf(62, 8))
  tree:add(f.limit, buf(70, 8))
  if version >= 2 then
    tree:add(f.path, buf(78, 2))
    tree:add(f.layers, buf(80, 2))
  end
  local at, src = name(tree, f.src_name, buf, names)
  if not at then return tree:add_proto_expert_info(e.short) end
  local last, dst = name(tree, f.dst_name, buf, at)
  if not last then return tree:add_proto_expert_info(e.short) end
  tree:add(f.flow, src .. ">" .. dst):set_generated()

  local seq = tostring(buf(16, 8):uint64())
  local info = string.format("vc%d  %s > %s  #%s  %d hops", buf(4, 1):uint(), src, dst, seq, buf(36, 2):uint())
  if buf(38, 2):uint() > 0 then info = info .. ", rerouted" end
  if buf(3, 1):uint() > 0 then info = info .. "  [" .. (states[buf(3, 1):uint()] or "?") .. "]" end
  pinfo.cols.src, pinfo.cols.dst, pinfo.cols.info = src, dst, info
  tree:append_text(", " .. info)
  if version >= 4 and last < buf:len() then -- what it carries, of which the columns tell then
    local ip = buf(last, 1):bitfield(0, 4) == 6 and "ipv6" or "ip"
    Dissector.get(ip):call(buf(last):tvb(), pinfo, root)
  end
end

function weft.dissector(buf, pinfo, root)
  pinfo.cols.protocol = "Weft"
  local tree = root:add(weft, buf())
  if buf:len() < 4 then return tree:add_proto_expert_info(e.short) end
  tree:add(f.version, buf(0, 1))
  if not fixed_of[buf(0, 1):uint()] then return tree:add_proto_expert_info(e.version) end
  tree:add(f.kind, buf(1, 1))
  tree:add(f.traced, buf(2, 1))
  tree:add(f.state, buf(3, 1))
  if buf(1, 1):uint() == 1 then return packet(buf, pinfo, tree, root) end
  return mark(buf, pinfo, tree)
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, weft)
