// What a serving thread does: it accepts connections on the shared port, and passes frames between them and the main thread.
import net, { type Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { parentPort, workerData } from 'node:worker_threads'
import { ownThread } from '@annal/engine/thread-watch'
import { collectGarbage } from '../collector.ts'
import { connectionsCheckingIntervalMs, headersTimeoutMs, keepAliveTimeoutMs } from '../limits.ts'
import { nodeTls } from '../node-modules.ts'
import { ClientConnection, type ConnectionHost, type ConnectionTimes } from './client-connection.ts'
import { FrameSender } from './frame-sender.ts'
import {
  type Frame,
  type FromThread,
  frameKind,
  type ListenAddress,
  type ListenFailure,
  type ServingThreadData,
  type ThreadTls,
  type ToThread,
} from './messages.ts'
import { ReplyHeads } from './reply-head.ts'
import { ReplyTurn } from './reply-turn.ts'
import { SharedCounts } from './shared-counts.ts'
import type { ThreadParts } from './thread-parts.ts'
import { TimeShare } from './time-share.ts'

/** Makes the parts of this thread from the value of the owner. Called when the engine is open. */
export type OpenParts = (value: unknown) => Promise<ThreadParts>

const { thread, threads, counts: memory, tls: tlsAtStart } = workerData as ServingThreadData
const port = parentPort!
const counts = new SharedCounts(threads, memory)
const sender = new FrameSender(port)

/** Node closes an idle connection a second later than it announces. */
const times: ConnectionTimes = {
  idle: keepAliveTimeoutMs / 1_000 + 1,
  idleThere: 3,
  partial: 5,
}
const stoppingSweepMs = 50
/** A thread with fewer connections keeps them, and it moves at most this many in a second. */
const keptConnections = 4
const movesPerSecondMax = 64

/** About the time of 20 searches: with so many at once, requests wait longer for their turn than replies for its end. */
const replyWaitMsMax = 2

/** A quarter: docs/decisions/0055-writers-get-a-quarter.md. Long enough for the system to choose another thread. */
const share = { left: 0.25, pauseMs: 0.2 }

const turn = new ReplyTurn(replyWaitMsMax)
const timeShare = new TimeShare(share)
/** Never changes. The thread sleeps on it during its pauses. */
const pause = new Int32Array(new SharedArrayBuffer(4))
const listeners: net.Server[] = []
const open = new Set<ClientConnection>()
/** Connections by the number of their virtual connection. */
const virtual = new Map<number, ClientConnection>()
let lastVirtual = 0
let seconds = 0
let date = new Date().toUTCString()
let isStopping = false
let parts: ThreadParts | undefined
/** Connections that were closed to move their clients, and are still counted. */
let moving = 0
let moves = 0

const host: ConnectionHost = {
  sender,
  connect(connection) {
    lastVirtual++
    virtual.set(lastVirtual, connection)
    return lastVirtual
  },
  forget: (number) => void virtual.delete(number),
  parts: () => parts,
  seconds: () => seconds,
  date: () => date,
  heads: new ReplyHeads(),
  get connections() {
    return open.size
  },
  sendLater: (send) => turn.add(send, (flush) => setImmediate(work, flush)),
  moveAway,
  hasMoved() {
    moving--
  },
  get isStopping() {
    return isStopping
  },
  fail(error) {
    tell({ kind: 'fault', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  },
}

/**
 * The system distributes connections by chance. A thread with clearly more than its share closes new ones after their first reply, so that
 * their clients connect again, probably to another thread.
 */
function moveAway(): boolean {
  const own = counts.connections(thread) - moving
  if (own < keptConnections || moves >= movesPerSecondMax) return false
  const mean = counts.connections() / threads
  if (own <= mean + Math.max(1, mean / 8)) return false
  moving++
  moves++
  counts.countMoved(thread)
  return true
}

function tell(message: Exclude<FromThread, readonly Frame[]>): void {
  port.postMessage(message)
}

/** Marks the work, so that the main thread notices if it does not end. Pauses after it if graph threads need the time. */
function work(action: () => void): void {
  const begunMs = parts?.isBuilding?.() === true ? performance.now() : undefined
  counts.begin(thread)
  action()
  counts.finish(thread)
  if (begunMs === undefined || !timeShare.worked(begunMs, performance.now())) return
  Atomics.wait(pause, 0, 0, share.pauseMs)
}

/** The same options as those of the HTTP server of Node.js. */
const socketOptions = { allowHalfOpen: true, noDelay: true }

function createListener(secure: ThreadTls | undefined): net.Server {
  if (secure === undefined) {
    return net.createServer(socketOptions).on('connection', limitConnections).on('connection', serve)
  }
  const limits = { handshakeTimeout: headersTimeoutMs, ALPNProtocols: ['http/1.1'] }
  const server = nodeTls().createServer({ ...socketOptions, ...tlsOptions(secure), ...limits })
  // Before the handshake, so that unfinished handshakes are counted.
  server.prependListener('connection', limitConnections)
  server.on('secureConnection', serve)
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return server
}

function tlsOptions({ cert, key, ...options }: ThreadTls): SecureContextOptions {
  return { cert: Buffer.from(cert), key: Buffer.from(key), ...options }
}

function limitConnections(socket: Socket): void {
  if (!counts.connect(thread)) {
    socket.destroy()
    return
  }
  socket.once('close', () => {
    counts.disconnect(thread)
    reportDrained()
  })
}

function serve(socket: Socket): void {
  if (socket.destroyed) return
  const connection = new ClientConnection(socket, host)
  open.add(connection)
  socket.on('data', (chunk: Buffer) => work(() => connection.receive(chunk)))
  socket.on('end', () => work(() => connection.receiveEnd()))
  // `close` follows.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    open.delete(connection)
    work(() => connection.close())
    reportDrained()
  })
}

function receiveFrames(frames: readonly Frame[]): void {
  for (const frame of frames) {
    const connection = virtual.get(frame[1])
    if (connection === undefined) continue
    if (frame[0] === frameKind.data) connection.receiveReply(frame[2])
    else if (frame[0] === frameKind.served) connection.receiveServed()
    else if (frame[0] === frameKind.credit) connection.receiveCredit(frame[2])
    else if (frame[0] === frameKind.end) connection.receiveReplyEnd()
    else if (frame[0] === frameKind.destroy) connection.receiveDestroy()
  }
}

async function listen(addresses: readonly ListenAddress[]): Promise<void> {
  let port = 0
  for (const { host, isRequired, backlog, ...address } of addresses) {
    const server = createListener(tlsAtStart)
    try {
      // Every address has the port of the first.
      port = await listenOn(server, { host, backlog, port: address.port || port })
      listeners.push(server)
    } catch (error) {
      if (!isRequired) continue
      tell({ kind: 'failed', failure: failureOf(error) })
      return
    }
  }
  tell({ kind: 'listening', port })
}

function listenOn(server: net.Server, options: net.ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...options, reusePort: true }, () => {
      server.off('error', reject)
      // A failure to accept one connection, such as too many open files, ends none of the others.
      server.on('error', () => undefined)
      resolve((server.address() as net.AddressInfo).port)
    })
  })
}

function failureOf(error: unknown): ListenFailure {
  const { message, code, errno, syscall, address, port: failedPort } = error as NodeJS.ErrnoException & ListenFailure
  return {
    message,
    ...(code === undefined ? {} : { code }),
    ...(errno === undefined ? {} : { errno }),
    ...(syscall === undefined ? {} : { syscall }),
    ...(address === undefined ? {} : { address }),
    ...(failedPort === undefined ? {} : { port: failedPort }),
  }
}

function stop(): void {
  isStopping = true
  for (const server of listeners) server.close()
  sweep()
  setInterval(() => work(sweep), stoppingSweepMs)
  reportDrained()
}

let isDrained = false

function reportDrained(): void {
  if (!isStopping || isDrained || counts.connections(thread) > 0) return
  isDrained = true
  parts?.finish?.()
  sender.flush()
  tell({ kind: 'drained' })
}

function sweep(): void {
  for (const connection of open) connection.checkTimes(times)
}

/** Runs until the main thread ends it. */
export function runServingThread(openParts: OpenParts): void {
  const everySecond = (): void => {
    seconds += 1
    moves = 0
    date = new Date().toUTCString()
    sweep()
  }
  // After what has arrived is read: if the thread was busy, a connection may look idle that has sent its next request.
  setInterval(() => setImmediate(work, everySecond), connectionsCheckingIntervalMs)
  port.on('message', (message: ToThread) => work(() => receive(message, openParts)))
  counts.setSystemThread(thread, ownThread())
  tell({ kind: 'ready' })
}

function receive(message: ToThread, openParts: OpenParts): void {
  if (!('kind' in message)) receiveFrames(message)
  else if (message.kind === 'listen') void listen(message.addresses)
  else if (message.kind === 'parts') void takeParts(openParts(message.value))
  else if (message.kind === 'tls') setTls(message.tls)
  else if (message.kind === 'collect') collectGarbage()
  else stop()
}

/** Until the parts are there, and if they cannot be made, every request is forwarded. */
async function takeParts(opening: Promise<ThreadParts>): Promise<void> {
  try {
    parts = await opening
  } catch (error) {
    host.fail(error)
  }
}

function setTls(secure: ThreadTls): void {
  for (const server of listeners) if (server instanceof nodeTls().Server) server.setSecureContext(tlsOptions(secure))
}
