// Loaded into a process of a test: the host `server`, which is a container in the compose stack, is this machine.
import dns from 'node:dns'

const { lookup } = dns

Object.assign(dns, {
  lookup: (host: string, ...rest: [never]) => lookup(host === 'server' ? '127.0.0.1' : host, ...rest),
})
