// A port of this machine that nothing listened on a moment ago, for programs that cannot choose one themselves.
import net from 'node:net'

export async function freePort(): Promise<number> {
  const holder = net.createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  const { port } = holder.address() as net.AddressInfo
  await new Promise((resolve) => holder.close(resolve))
  return port
}
