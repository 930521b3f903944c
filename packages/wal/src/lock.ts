// One process per data directory. It takes two locks, because each alone has a gap. A LOCK file names its owner, but it
// remains after the owner ends. On Linux an abstract socket is released by the kernel with the process, but other
// network namespaces do not see it. The socket is taken first, so that only one process at a time judges an old LOCK
// file. An owner in a container also binds a socket in the directory, by which processes of other containers judge it.
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { xxh64 } from './checksum.ts'
import { errnoOf, isDiskFull, WalError } from './errors.ts'
import { type HeldDirectory, holdDirectory, nodeVfs } from './node-vfs.ts'
import { bindOwnerSocket, isOwnerSocket, type OwnerSocket, ownerAnswers } from './owner-socket.ts'
import { machineNamespace, type ProcessFacts, processAt, processFacts } from './process-facts.ts'
import type { Vfs, VfsFile } from './vfs.ts'
import { readSmall, writeFully } from './whole-file.ts'

/** Options of acquireLock. */
export interface LockOptions {
  readonly vfs?: Vfs
  /** Take the directory from an owner on another host, whose state cannot be checked. */
  readonly force?: boolean
  /** Called once when the owner is exiting and this process waits for it. */
  readonly onWait?: (pid: number | undefined) => void
  /** Called when the disk has no space for the LOCK file. Returns whether it freed any. */
  readonly makeRoom?: () => Promise<boolean>
}

/** The lock of a directory, held by this process. */
export interface DirectoryLock {
  /** Idempotent. */
  release(): Promise<void>
}

/**
 * The content of LOCK. It names the directory, so that a LOCK copied together with a directory in use is recognized as
 * a copy.
 */
interface Owner extends ProcessFacts {
  readonly directory: string
  /** Name of its socket in the directory; absent outside of containers, and where the file system has no sockets. */
  readonly socket?: string
}

const lockName = 'LOCK'
const lockBytesMax = 4096
/**
 * How long to wait for an owner that is exiting. The kernel frees its memory first, about a gigabyte in a quarter of a
 * second.
 */
const waitMsMax = 5_000
const waitStepMs = 25

/** The process that holds a directory. */
export interface LockHolder {
  readonly pid: number
  readonly host: string
  /** The process ended without releasing the lock; the next start takes it. */
  readonly isGone: boolean
}

/** Returns the holder of the directory without changing anything; undefined when nobody holds it. */
export async function lockHolder(dir: string, options: Pick<LockOptions, 'vfs'> = {}): Promise<LockHolder | undefined> {
  const owner = await ownerOf(options.vfs ?? nodeVfs(), join(dir, lockName))
  if (owner === undefined) return undefined
  const held = holdDirectory(dir)
  try {
    const isOwnerGone = await isGone(owner, await processFacts(), held)
    return { pid: owner.pid, host: owner.host, isGone: isOwnerGone }
  } finally {
    held.letGo()
  }
}

/**
 * Locks the directory or rejects with `directory_locked`, having changed nothing. Waits for an owner that is exiting,
 * not for one that runs.
 */
export async function acquireLock(dir: string, options: LockOptions = {}): Promise<DirectoryLock> {
  const vfs = options.vfs ?? nodeVfs()
  const path = join(dir, lockName)
  const held = holdDirectory(dir)
  const facts = await processFacts()
  let socket: Server | undefined
  let named: OwnerSocket | undefined
  const letGo = async () => {
    await named?.close()
    await closeSocket(socket)
    held.letGo()
  }
  let own: Owner
  try {
    const free = await freeSocket(held.key, options.onWait, async () => {
      const owner = await ownerOf(vfs, path)
      return { pid: owner?.pid, isEnding: owner === undefined || (await isGone(owner, facts, held)) }
    })
    if (free === 'taken') throw locked(path, await ownerOf(vfs, path))
    socket = free
    if (facts.namespace !== undefined && facts.namespace !== machineNamespace) named = await bindOwnerSocket(held)
    own = { ...facts, directory: held.key, ...(named && { socket: named.name }) }
    await takeFile({ vfs, path, held }, own, options)
  } catch (error) {
    await letGo()
    throw error
  }
  let released: Promise<void> | undefined
  const release = async () => {
    try {
      await removeOwn(vfs, path, own)
    } finally {
      await letGo()
    }
  }
  return {
    release() {
      released ??= release()
      return released
    },
  }
}

/**
 * The kernel releases the socket last, shortly after its owner ended or removed its LOCK. There is a similar gap
 * between the binding of the socket and the LOCK of a process that is starting; that process is then refused by name.
 */
async function freeSocket(
  key: string,
  onWait: LockOptions['onWait'],
  look: () => Promise<{ readonly pid: number | undefined; readonly isEnding: boolean }>,
): Promise<Server | 'taken' | undefined> {
  let hasNotified = false
  for (let waitedMs = 0; ; waitedMs += waitStepMs) {
    const socket = await bindSocket(key)
    if (socket !== 'taken' || waitedMs >= waitMsMax) return socket
    const { pid, isEnding } = await look()
    if (!isEnding) return socket
    if (!hasNotified && waitedMs > 0) onWait?.(pid)
    hasNotified ||= waitedMs > 0
    await sleep(waitStepMs)
  }
}

/** The directory may have been deleted meanwhile, and the path may lead to one that another process has. */
async function removeOwn(vfs: Vfs, path: string, own: Owner): Promise<void> {
  const owner = await ownerOf(vfs, path)
  if (JSON.stringify(owner) === JSON.stringify(own)) await removeIfPresent(vfs, path)
}

interface LockPlace {
  readonly vfs: Vfs
  /** Path of the LOCK file. */
  readonly path: string
  readonly held: HeldDirectory
}

async function takeFile(place: LockPlace, own: Owner, { force, makeRoom }: LockOptions): Promise<void> {
  const { vfs, path, held } = place
  // Processes of two containers may have the same pid and start time.
  const claim = `${path}.${own.pid}-${own.started}-${randomBytes(4).toString('hex')}.tmp`
  const removeOld = async () => {
    const owner = await ownerOf(vfs, path)
    if (owner !== undefined && !force && !(await isGone(owner, own, held))) throw locked(path, owner)
    await moveAway(vfs, path, `${claim}-old`, owner)
  }
  // Before the claim is written: on a full disk, the old file gives it its space.
  await removeOld()
  await writeClaim(vfs, claim, own, makeRoom)
  try {
    // A link appears whole or fails, so no process reads an incomplete owner.
    for (let tries = 0; tries < 3; tries++) {
      if (await tryLink(vfs, claim, path)) return await settle(place, own)
      await removeOld()
    }
    throw locked(path, await ownerOf(vfs, path))
  } finally {
    await removeIfPresent(vfs, claim)
  }
}

/** Makes the name durable and removes claims and sockets of processes that were killed. */
async function settle({ vfs, path, held }: LockPlace, { socket }: Owner): Promise<void> {
  for (const name of await vfs.list(dirname(path))) {
    const isClaim = /^LOCK\.\d+-\d*(-[0-9a-f]{8})?\.tmp/.test(name)
    const isLeft = isOwnerSocket(name) && name !== socket && !(await ownerAnswers(held, name))
    if (isClaim || isLeft) await removeIfPresent(vfs, join(dirname(path), name))
  }
  await vfs.syncDirectory(dirname(path))
}

/** The winner may remove a claim before the loser does. */
async function removeIfPresent(vfs: Vfs, path: string): Promise<void> {
  try {
    await vfs.remove(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

async function writeClaim(
  vfs: Vfs,
  claim: string,
  own: Owner,
  makeRoom: LockOptions['makeRoom'] = async () => false,
): Promise<void> {
  const write = (file: VfsFile) => writeFully(file, Buffer.from(`${JSON.stringify(own)}\n`), 0)
  for (;;) {
    try {
      const file = await vfs.open(claim, 'create')
      return await write(file).finally(() => file.close())
    } catch (error) {
      await removeIfPresent(vfs, claim)
      if (!isDiskFull(error) || !(await makeRoom())) throw error
    }
  }
}

async function tryLink(vfs: Vfs, from: string, to: string): Promise<boolean> {
  try {
    await vfs.link(from, to)
    return true
  } catch (error) {
    // Either another process has the name, or the winner has already removed this claim.
    if (errnoOf(error) !== 'EEXIST' && errnoOf(error) !== 'ENOENT') throw error
    return false
  }
}

/** Moves the old file away and checks that it was the judged one, not that of a new owner. */
async function moveAway(vfs: Vfs, path: string, target: string, judged: Owner | undefined): Promise<void> {
  try {
    await vfs.rename(path, target)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    return
  }
  const moved = await ownerOf(vfs, target)
  const isJudged = JSON.stringify(moved) === JSON.stringify(judged)
  if (!isJudged) await tryLink(vfs, target, path)
  await vfs.remove(target)
  if (!isJudged) throw locked(path, moved)
}

/**
 * An owner is gone when it owned another directory, its machine restarted, or its process ended or its pid belongs to
 * another process now. The pid of another container says nothing.
 */
async function isGone(owner: Owner, own: ProcessFacts, held: HeldDirectory): Promise<boolean> {
  if (owner.directory !== held.key) return true
  if (owner.host !== own.host) return false
  if (owner.boot !== own.boot) return true
  if (owner.namespace !== undefined && owner.namespace !== own.namespace) {
    // Of a socket of another form nothing is known, so its owner may run.
    if (owner.socket !== undefined)
      return isOwnerSocket(String(owner.socket)) && !(await ownerAnswers(held, owner.socket))
    if (owner.namespace === machineNamespace) return false
  }
  const found = await processAt(owner.pid)
  return found === undefined || found.started !== owner.started || found.isEnding
}

async function ownerOf(vfs: Vfs, path: string): Promise<Owner | undefined> {
  try {
    const owner: unknown = JSON.parse((await readSmall(vfs, path, lockBytesMax)).toString())
    return isFacts(owner) ? owner : undefined
  } catch (error) {
    // No file, or one truncated by a power cut: no running process left it.
    if (error instanceof SyntaxError || errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function isFacts(value: unknown): value is Owner {
  if (typeof value !== 'object' || value === null) return false
  return (
    'pid' in value &&
    typeof value.pid === 'number' &&
    'started' in value &&
    'boot' in value &&
    'host' in value &&
    'directory' in value
  )
}

function bindSocket(key: string): Promise<Server | 'taken' | undefined> {
  if (process.platform !== 'linux') return Promise.resolve(undefined)
  const name = `\0annal-${xxh64(Buffer.from(key)).toString(16)}`
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve, reject) => {
    server.once('error', (error) => (errnoOf(error) === 'EADDRINUSE' ? resolve('taken') : reject(error)))
    server.listen({ path: name }, () => resolve(server.unref()))
  })
}

function closeSocket(server: Server | undefined): Promise<void> {
  if (server === undefined) return Promise.resolve()
  return new Promise((resolve) => server.close(() => resolve()))
}

function locked(path: string, owner: Owner | undefined): WalError {
  const who = owner === undefined ? 'another process' : `process ${owner.pid} on ${owner.host}`
  const cure =
    owner !== undefined && owner.host !== hostname() ? ' If that host is gone, start once with the lock forced.' : ''
  return new WalError('directory_locked', `${dirname(path)} is in use by ${who} (${path}).${cure}`, {
    file: path,
    pid: owner?.pid,
    host: owner?.host,
  })
}
