// A port of this machine for programs that cannot choose one themselves. Ports that the system chooses are not used: between the choice and the
// start of the program, an outgoing connection or another test can get the same one. Then a test reached the server of another one.
import { randomInt } from 'node:crypto'
import { mkdirSync, rmdirSync, statSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Below the ports that systems choose themselves: 32768 on Linux, 49152 elsewhere. */
const ports = { from: 10_000, to: 32_000 }
/** A process that was killed leaves its claims. */
const claimMs = 3_600_000

const claimed = new Set<string>()

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.to)
    if ((await isFree(port)) && claim(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const holder = net.createServer()
    holder.once('error', () => resolve(false))
    holder.listen(port, '127.0.0.1', () => holder.close(() => resolve(true)))
  })
}

/** Keeps other tests from the port until this process exits. */
function claim(port: number): boolean {
  const all = path.join(tmpdir(), 'annal-test-ports')
  const own = path.join(all, String(port))
  mkdirSync(all, { recursive: true })
  try {
    mkdirSync(own)
  } catch {
    const madeMs = statSync(own, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    // Another test may remove it at the same time, and then this one takes another port.
    if (Date.now() - madeMs > claimMs) remove(own)
    return false
  }
  if (claimed.size === 0) process.once('exit', () => claimed.forEach(remove))
  claimed.add(own)
  return true
}

function remove(directory: string): void {
  try {
    rmdirSync(directory)
  } catch {
    // It is gone.
  }
}
