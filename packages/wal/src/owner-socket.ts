// Shows processes of other containers that the owner of a directory runs. The pids of one container mean nothing in another, and abstract
// sockets of another network namespace are invisible, but a socket with a name in the directory is the same for all of them. The kernel
// accepts connections to it until its process has ended, also while that process is stopped.
import { randomBytes } from 'node:crypto'
import { createConnection, createServer } from 'node:net'
import { errnoOf } from './errors.ts'
import type { HeldDirectory } from './node-vfs.ts'

const nameForm = /^LOCK\.[0-9a-f]{16}\.socket$/

/** A socket in the directory of an owner. */
export interface OwnerSocket {
  readonly name: string
  /** Removes it. */
  close(): Promise<void>
}

/** Whether a file in a data directory is a socket of an owner, running or not. */
export function isOwnerSocket(name: string): boolean {
  return nameForm.test(name)
}

/** Binds a socket in the directory. Undefined where the file system has no sockets. */
export async function bindOwnerSocket(directory: HeldDirectory): Promise<OwnerSocket | undefined> {
  const name = `LOCK.${randomBytes(8).toString('hex')}.socket`
  const server = createServer((socket) => socket.destroy())
  const isBound = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error) => (errnoOf(error) === undefined ? reject(error) : resolve(false)))
    server.listen({ path: directory.pathOf(name) }, () => resolve(true))
  })
  if (!isBound) return undefined
  server.unref()
  return { name, close: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** Whether the process that bound a socket of this name runs. */
export function ownerAnswers(directory: HeldDirectory, name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ path: directory.pathOf(name) })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    // Nobody has it, or it was removed. Any other error says nothing, so the process may run.
    socket.once('error', (error) => resolve(errnoOf(error) !== 'ECONNREFUSED' && errnoOf(error) !== 'ENOENT'))
  })
}
