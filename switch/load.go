package switching

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// Load makes the switch run fw from now on, between two packets: new tables, of that version, or
// another firmware. Every packet that waits for room is routed anew, and a decision that it waits
// for is forgotten; what is in output queues or on a wire goes where it was going. A register keeps
// its value when fw declares one of the same name and width, and its timer when that is as long
// too; others start from zero.
//
// Whether packets that were routed by both can wait for each other for ever is up to the firmwares:
// package harness/verify proves it. The error says why the switch cannot run fw; it goes on as
// before.
func (s *Switch) Load(now weft.Time, fw Firmware, version uint64, out *weft.Actions) error {
	cfg := s.cfg
	cfg.Firmware = fw
	if err := cfg.validate(); err != nil {
		return err
	}
	registers, err := declared(&fw, s.place)
	if err != nil {
		return err
	}
	for i := range registers {
		registers[i].keep(now, s.registers)
	}
	s.now, s.version, s.cfg, s.registers = now, version, cfg, registers
	s.blockAsked()
	s.adopt()
	s.rerouteBlocked(out)
	s.wake(out)
	return nil
}

// keep takes over the value of the register of the same name and width, if there is one.
func (r *register) keep(now weft.Time, were []register) {
	i := slices.IndexFunc(were, func(w register) bool { return w.Name == r.Name && w.Width == r.Width })
	switch {
	case i < 0 || were[i].value == 0:
	case were[i].Expire == r.Expire:
		r.value, r.expires = were[i].value, were[i].expires
	default:
		if r.value = were[i].value; r.Expire > 0 {
			r.expires = now + r.Expire
		}
	}
}

// adopt has the switch do as the firmware of its configuration says.
func (s *Switch) adopt() {
	fw := &s.cfg.Firmware
	s.route, s.bytes, s.most, s.slow = fw.Route, fw.HeaderBytes, weft.MaxHops, fw.Batch != nil
	s.changed()
	if fw.MostHops != 0 {
		s.most = uint16(min(max(fw.MostHops, 1), weft.MaxHops))
	}
}

// declared are the registers of a firmware at a place.
func declared(fw *Firmware, place *weft.Place) (list []register, err error) {
	for _, r := range fw.RegistersAt(place) {
		if r.Width < 1 || r.Width > 64 || r.Expire < 0 {
			return nil, fmt.Errorf("%w: switch %s: register %q: width must be 1 to 64 and expiry not negative", ErrConfig,
				place.Name, r.Name)
		}
		list = append(list, register{Register: r, expires: weft.Never})
	}
	return list, nil
}
