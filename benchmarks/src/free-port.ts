import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A port that nobody listens on, for programs that do not say which one they got. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The address of a TCP server is an AddressInfo; a string is for pipes only.
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
