package filterlog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryProtocolOfBothFamiliesIsTakenApart(t *testing.T) {
	const head = "Nov 30 00:53:20 gate filterlog[51234]: "
	base := Packet{Rule: "81", Tracker: "1000000103", Interface: "igb1", Reason: "match", Action: "block", Direction: "in"}
	with := func(set func(*Packet)) Packet { p := base; set(&p); return p }
	for name, c := range map[string]struct {
		record string
		want   Packet
	}{
		"tcp over IPv4": {
			"81,,,1000000103,igb1,match,block,in,4,0x0,,222,51650,0,DF,6,tcp,60,198.51.100.7,203.0.113.10,26908,3389,0,S,4140751115,,64240,,mss;sackOK",
			with(func(p *Packet) {
				p.Version, p.Protocol, p.Length = "4", "tcp", "60"
				p.Source, p.SourcePort, p.Destination, p.DestinationPort = "198.51.100.7", "26908", "203.0.113.10", "3389"
			}),
		},
		"udp over IPv4": {
			"81,,,1000000103,igb1,match,block,in,4,0x0,,78,56889,0,DF,17,udp,111,198.51.100.7,203.0.113.10,51960,53,101",
			with(func(p *Packet) {
				p.Version, p.Protocol, p.Length = "4", "udp", "111"
				p.Source, p.SourcePort, p.Destination, p.DestinationPort = "198.51.100.7", "51960", "203.0.113.10", "53"
			}),
		},
		"icmp over IPv4 has no ports": {
			"81,,,1000000103,igb1,match,block,in,4,0x0,,188,4295,0,DF,1,icmp,1280,198.51.100.7,203.0.113.10,request,1,1",
			with(func(p *Packet) {
				p.Version, p.Protocol, p.Length = "4", "icmp", "1280"
				p.Source, p.Destination = "198.51.100.7", "203.0.113.10"
			}),
		},
		"tcp over IPv6": {
			"81,,,1000000103,igb1,match,block,in,6,0x00,0x12345,64,TCP,6,40,2001:db8::1,2001:db8::2,443,51000,0,SA,1,2,65535,,mss",
			with(func(p *Packet) {
				p.Version, p.Protocol, p.Length = "6", "tcp", "40"
				p.Source, p.SourcePort, p.Destination, p.DestinationPort = "2001:db8::1", "443", "2001:db8::2", "51000"
			}),
		},
		"icmp over IPv6": {
			"81,,,1000000103,igb1,match,block,in,6,0x00,0x00000,255,ICMPv6,58,32,fe80::1,ff02::1,",
			with(func(p *Packet) {
				p.Version, p.Protocol, p.Length = "6", "icmpv6", "32"
				p.Source, p.Destination = "fe80::1", "ff02::1"
			}),
		},
		"parts out of form are empty, not guessed": {
			"81,,,12x,igb1,match,block,in,4,0x0,,78,56889,0,DF,17,udp,-5,2001:db8::1,host.example,051960,99999,101",
			with(func(p *Packet) { p.Tracker, p.Version, p.Protocol = "", "4", "udp" }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Parse(Split(head + c.record))
			if !ok {
				t.Fatal("not read")
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestWhatIsNoPacketIsRefused(t *testing.T) {
	for name, line := range map[string]string{
		"another program that quotes a record":    "Nov 30 00:53:20 gate sshd[1]: 81,,,1,igb1,match,block,in,4,0x0,,78,1,0,DF,17,udp,1,192.0.2.1,192.0.2.2,1,2,3",
		"too short":                               "Nov 30 00:53:20 gate filterlog[1]: 81,,,1,igb1,match,block,in,4,0x0",
		"an unknown IP version":                   "Nov 30 00:53:20 gate filterlog[1]: 81,,,1,igb1,match,block,in,5,0x0,,78,1,0,DF,17,udp,1,192.0.2.1,192.0.2.2,1,2,3",
		"an IPv4 record cut before the addresses": "Nov 30 00:53:20 gate filterlog[1]: 81,,,1,igb1,match,block,in,4,0x0,,78,1,0,DF,17,udp,1,192.0.2.1",
		"no header":                               "81,,,1,igb1,match,block,in,4,0x0,,78,1,0,DF,17,udp,1,192.0.2.1,192.0.2.2,1,2,3",
	} {
		if p, ok := Parse(Split(line)); ok {
			t.Errorf("%s: read as %+v", name, p)
		}
	}
}

func TestHeadersAreReadInBothForms(t *testing.T) {
	for in, want := range map[string]Line{
		"Jan  3 01:00:00 fw php-fpm[412]: /index.php: hello":           {"Jan  3 01:00:00", "php-fpm", "412", "/index.php: hello"},
		"Nov 30 04:10:49 fw kernel: link state changed":                {"Nov 30 04:10:49", "kernel", "", "link state changed"},
		"Nov 30 04:10:49 fw no tag here":                               {"Nov 30 04:10:49", "", "", "no tag here"},
		"Nov 30 04:10:49 fw odd tag[1]: x":                             {"Nov 30 04:10:49", "", "", "odd tag[1]: x"},
		"Nov 30 04:10:49 fw a[01]: x":                                  {"Nov 30 04:10:49", "", "", "a[01]: x"},
		"<134>1 2026-11-30T00:53:20.5+01:00 fw filterlog 512 - - 81,x": {"2026-11-30T00:53:20.5+01:00", "filterlog", "512", "81,x"},
		"1 2026-11-30T00:53:20Z fw - - - - hi":                         {"2026-11-30T00:53:20Z", "", "", "hi"},
		"Xyz 30 04:10:49 fw kernel: a":                                 {Message: "Xyz 30 04:10:49 fw kernel: a"},
		"Nov 30 04:10:49":                                              {Message: "Nov 30 04:10:49"},
		"":                                                             {},
	} {
		if d := cmp.Diff(want, Split(in)); d != "" {
			t.Errorf("%q: %s", in, d)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Nov 30 00:53:20 gate filterlog[5]: 81,,,1000000103,igb1,match,block,in,4,0x0,,222,51650,0,DF,6,tcp,60,198.51.100.7,203.0.113.10,26908,3389,0,S,4,,6,,mss")
	f.Add("Nov 30 00:53:20 gate filterlog[5]: 81,,,1,igb1,match,block,in,6,0x00,0x0,255,ICMPv6,58,32,fe80::1,ff02::1,")
	f.Add("<134>1 2026-11-30T00:53:20Z fw filterlog 512 - - 81,,,")
	f.Fuzz(func(t *testing.T, s string) {
		l := Split(s)
		if !strings.HasSuffix(s, l.Message) || !strings.Contains(s, l.Time) {
			t.Fatalf("parts that the line does not have: %+v", l)
		}
		p, ok := Parse(l)
		if !ok {
			return
		}
		for _, n := range []string{p.Tracker, p.Length, p.SourcePort, p.DestinationPort, l.PID} {
			if n != "" && !isDigits(n) {
				t.Fatalf("not a number: %q", n)
			}
		}
	})
}
