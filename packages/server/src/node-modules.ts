// Modules of Node.js that are loaded without an import, when a function first needs them. An import of `node:http` reads all exports of that
// module, and one of them loads the implementation of `fetch` and WebSocket: 14 MB and 30 ms of CPU time in each thread. `node:tls` takes
// 7 MB, and most servers use it in no serving thread.
type Http = typeof import('node:http')
type Https = typeof import('node:https')
type Tls = typeof import('node:tls')

export function nodeHttp(): Http {
  return process.getBuiltinModule('node:http')
}

export function nodeHttps(): Https {
  return process.getBuiltinModule('node:https')
}

export function nodeTls(): Tls {
  return process.getBuiltinModule('node:tls')
}
