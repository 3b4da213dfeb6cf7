package data

import (
	"fmt"
	"strconv"

	"pfsensemcp/test/fakepf/php"
)

// random is a small generator with a fixed seed: the same rows in every run.
type random uint64

func (r *random) n(below int) int {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int(uint64(*r>>33) % uint64(below))
}

func (r *random) pick(s ...string) string { return s[r.n(len(s))] }

// States returns n rows of the state table in the appliance's written form,
// without an id: about 330 bytes each.
func States(n int) [][]byte {
	r := random(7)
	out := make([][]byte, n)
	for i := range out {
		proto := r.pick("tcp", "tcp", "udp", "icmp")
		state := map[string]string{"udp": "MULTIPLE:MULTIPLE", "icmp": "0:0"}[proto]
		if proto == "tcp" {
			state = r.pick("ESTABLISHED:ESTABLISHED", "FIN_WAIT_2:FIN_WAIT_2", "TIME_WAIT:TIME_WAIT", "SYN_SENT:CLOSED")
		}
		src := fmt.Sprintf("10.71.%s.%d:%d", r.pick("10", "40", "80"), 2+r.n(250), 1024+r.n(60000))
		dst := fmt.Sprintf("203.0.113.%d:%s", r.n(256), r.pick("443", "53", "123", "993"))
		if r.n(9) == 0 {
			src = fmt.Sprintf("2001:db8:71:10::%x[%d]", 1+r.n(4000), 1024+r.n(60000))
			dst = fmt.Sprintf("2001:db8:ffff::%x[443]", 1+r.n(4000))
		}
		pin, pout := 1+r.n(5000), r.n(5000)
		bin, bout := pin*(64+r.n(1200)), pout*(64+r.n(1200))
		b := make([]byte, 0, 352)
		b = append(b, `{"interface":"`...)
		b = append(b, r.pick("igc0", "igc1", "igc1.40", "igc2")...)
		b = append(b, `","protocol":"`...)
		b = append(b, proto...)
		b = append(b, `","direction":"`...)
		b = append(b, r.pick("in", "out")...)
		b = append(b, `","source":`...)
		b = php.AppendString(b, src)
		b = append(b, `,"destination":`...)
		b = php.AppendString(b, dst)
		b = append(b, `,"state":"`...)
		b = append(b, state...)
		b = append(b, fmt.Sprintf(`","age":"%02d:%02d:%02d","expires_in":"00:%02d:%02d"`, r.n(9), r.n(60), r.n(60), r.n(60), r.n(60))...)
		for _, c := range []struct {
			name string
			v    int
		}{{"packets_total", pin + pout}, {"packets_in", pin}, {"packets_out", pout}, {"bytes_total", bin + bout}, {"bytes_in", bin}, {"bytes_out", bout}} {
			b = append(b, `,"`...)
			b = append(b, c.name...)
			b = append(b, `":`...)
			b = strconv.AppendInt(b, int64(c.v), 10)
		}
		out[i] = append(b, '}')
	}
	return out
}

// Aliases returns n host aliases beyond the office's own, without ids.
func Aliases(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = fmt.Appendf(nil, `{"name":"Gen_%06d","type":"host","descr":"generated alias %d","address":["10.%d.%d.%d"],"detail":["entry %d"]}`,
			i, i, 80+i>>16, i>>8&255, i&255, i)
	}
	return out
}

// Rules returns n firewall rules beyond the office's own, without ids: about
// 650 bytes each.
func Rules(n int) [][]byte {
	r := random(11)
	out := make([][]byte, n)
	for i := range out {
		out[i] = fmt.Appendf(nil, `{"type":"%s","interface":["%s"],"ipprotocol":"inet","protocol":"tcp","icmptype":null,"source":"10.71.%d.%d","source_port":null,"destination":"203.0.113.%d","destination_port":"%d","descr":"generated rule %d","disabled":%t,"log":%t,"dscp":null,"tag":"","statetype":"keep state","tcp_flags_any":false,"tcp_flags_out_of":null,"tcp_flags_set":null,"gateway":null,"sched":null,"dnpipe":null,"pdnpipe":null,"defaultqueue":null,"ackqueue":null,"floating":false,"quick":null,"direction":null,"tracker":%d,"associated_rule_id":null,"created_time":%d,"created_by":"marta@10.71.10.5 (Local Database)","updated_time":%d,"updated_by":"marta@10.71.10.5 (Local Database)"}`,
			r.pick("pass", "block", "reject"), r.pick("lan", "opt1", "opt2"), r.n(256), r.n(256), r.n(256), 1+r.n(65535), i, r.n(8) == 0, r.n(4) == 0, 1720000000+i, 1720000000+i, 1720000000+i)
	}
	return out
}

// logModels names the log models and what writes their lines.
func logModels() map[string]func(r *random, i int) string {
	tcp := func(r *random) string {
		return fmt.Sprintf("%s,%d,%d,0,S,%d,,64240,,mss", "6,tcp,60", 1024+r.n(60000), r.n(1024), 1000000+r.n(900000))
	}
	return map[string]func(*random, int) string{
		"FirewallLog": func(r *random, i int) string {
			tail := tcp(r)
			return fmt.Sprintf("filterlog[%d]: %d,,,%d,%s,match,%s,in,4,0x0,,%d,%d,0,DF,%s", 40021, 4+r.n(90), 1710400000+r.n(600), r.pick("igc0", "igc1", "igc2"), r.pick("block", "pass"), 32+r.n(96), r.n(65535),
				fmt.Sprintf("6,tcp,60,%d.%d.%d.%d,198.51.100.18,%s", 20+r.n(200), r.n(256), r.n(256), 1+r.n(254), tail[len("6,tcp,60,"):]))
		},
		"SystemLog": func(r *random, i int) string {
			return r.pick("kernel: igc3: link state changed to DOWN", "check_reload_status[412]: Reloading filter", "php-fpm[388]: /rc.newwanip: rc.newwanip: Info: starting on igc0.", "rc.gateway_alarm[9912]: >>> Gateway alarm: LTE_BACKUP (Addr:192.0.2.177 Alarm:1 Loss:100%)")
		},
		"AuthLog": func(r *random, i int) string {
			return r.pick("php-fpm[388]: /index.php: Successful login for user 'marta' from: 10.71.10.5 (Local Database)", "sshguard[7712]: Attack from \"203.0.113.251\" on service SSH with danger 10.", "sshd[8112]: Failed publickey for root from 203.0.113.251 port 50222 ssh2")
		},
		"DHCPLog": func(r *random, i int) string {
			return fmt.Sprintf("kea-dhcp4[21880]: INFO  [kea-dhcp4.leases.0x1] DHCP4_LEASE_ALLOC [hwaddr 02:42:71:10:01:%02x]: lease 10.71.10.%d has been allocated for 43200 seconds", r.n(256), 100+r.n(100))
		},
		"OpenVPNLog": func(r *random, i int) string {
			return r.pick("openvpn[3301]: marta.k/203.0.113.140:50412 SENT CONTROL [marta.k]: 'PUSH_REPLY' (status=1)", "openvpn[3302]: TLS Error: TLS handshake failed", "openvpn[3301]: field1/192.0.2.33:33991 peer info: IV_VER=2.6.12")
		},
		"RESTAPILog": func(r *random, i int) string {
			return r.pick("php-fpm[388]: /usr/local/pkg/RESTAPI: LOG_WARNING: authentication failed for key ending …f00d", "php-fpm[388]: /usr/local/pkg/RESTAPI: LOG_INFO: dispatcher finished")
		},
	}
}

// Log returns n lines of a log model, oldest first, 17 seconds apart, and
// whether the model is a log at all.
func Log(model string, n int) ([][]byte, bool) {
	write := logModels()[model]
	if write == nil {
		return nil, false
	}
	r := random(len(model))
	out := make([][]byte, n)
	for i := range out {
		sec := 8*3600 + i*17
		line := fmt.Sprintf("Nov %2d %02d:%02d:%02d fw01 %s", 28+sec/86400%3, sec/3600%24, sec/60%60, sec%60, write(&r, i))
		b := append([]byte(`{"text":`), php.AppendString(nil, line)...)
		out[i] = append(b, '}')
	}
	return out, true
}
