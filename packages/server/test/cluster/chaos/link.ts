// A TCP connection point between two processes of a test, which can be cut, held up in one or both directions, or slowed down. What is held
// up arrives later and in order, as TCP does it after a network has come back.
import { once } from 'node:events'
import net from 'node:net'
import type { Test } from 'tap'

/** `there`: from the side that connects to the side that listens. */
export type Direction = 'there' | 'back'

/** More bytes than this are left to the sender. */
const heldBytesMax = 1 << 20

/** One link to one port. */
export class Link {
  readonly port: number
  readonly #target: number
  readonly #sockets = new Set<net.Socket>()
  readonly #flows = new Set<Flow>()
  /** Connections that arrived while nothing came through. */
  #waiting: net.Socket[] = []
  #isCut = false
  #held: ReadonlySet<Direction> = new Set()
  delayMs = 0
  /** Called with what the side that connects has sent. */
  onSent: ((bytes: Buffer) => void) | undefined

  private constructor(port: number, target: number) {
    this.port = port
    this.#target = target
  }

  /** Opens a link to a port of this machine. It ends with the test. */
  static async open(t: Test, target: number): Promise<Link> {
    const server = net.createServer((socket) => link.#accept(socket))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const link = new Link((server.address() as net.AddressInfo).port, target)
    t.teardown(() => {
      server.close()
      link.cut()
    })
    return link
  }

  /** Resets every connection and refuses new ones. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.resetAndDestroy()
    this.#waiting = []
  }

  /** Holds up what is sent in these directions, without an error on either side. */
  hold(...directions: readonly Direction[]): void {
    this.#held = new Set(directions)
  }

  /** Everything passes again, at once. */
  heal(): void {
    this.#isCut = false
    this.#held = new Set()
    this.delayMs = 0
    for (const flow of this.#flows) flow.pump()
    for (const socket of this.#waiting.splice(0)) if (!socket.destroyed) this.#join(socket)
  }

  isHeld(direction: Direction): boolean {
    return this.#held.has(direction)
  }

  #accept(socket: net.Socket): void {
    if (this.#isCut) return void socket.resetAndDestroy()
    this.#keep(socket)
    if (this.#held.size > 0) this.#waiting.push(socket)
    else this.#join(socket)
  }

  #join(socket: net.Socket): void {
    const target = net.connect(this.#target, '127.0.0.1')
    this.#keep(target)
    for (const flow of [new Flow(this, socket, target, 'there'), new Flow(this, target, socket, 'back')]) {
      this.#flows.add(flow)
      target.on('close', () => this.#flows.delete(flow))
    }
  }

  #keep(socket: net.Socket): void {
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
  }
}

/** What is on its way in one direction of one connection. */
class Flow {
  readonly #link: Link
  readonly #from: net.Socket
  readonly #to: net.Socket
  readonly #direction: Direction
  /** Without bytes: the end of the connection. */
  #held: { readonly bytes: Buffer | undefined; readonly dueMs: number }[] = []
  #bytes = 0

  constructor(link: Link, from: net.Socket, to: net.Socket, direction: Direction) {
    this.#link = link
    this.#from = from
    this.#to = to
    this.#direction = direction
    from.on('data', (bytes: Buffer) => this.#take(bytes))
    from.on('close', () => this.#take(undefined))
    to.on('drain', () => this.pump())
  }

  /** Sends what is due. */
  pump(): void {
    while (!this.#link.isHeld(this.#direction) && !this.#to.writableNeedDrain) {
      const [next] = this.#held
      if (next === undefined) break
      const waitMs = next.dueMs - performance.now()
      if (waitMs > 0 && this.#link.delayMs > 0) {
        setTimeout(() => this.pump(), waitMs)
        return
      }
      this.#held.shift()
      if (next.bytes === undefined) return void this.#to.destroy()
      this.#bytes -= next.bytes.length
      this.#to.write(next.bytes)
    }
    if (this.#bytes < heldBytesMax) this.#from.resume()
  }

  #take(bytes: Buffer | undefined): void {
    if (bytes !== undefined && this.#direction === 'there') this.#link.onSent?.(bytes)
    this.#held.push({ bytes, dueMs: performance.now() + this.#link.delayMs })
    this.#bytes += bytes?.length ?? 0
    if (this.#bytes >= heldBytesMax) this.#from.pause()
    this.pump()
  }
}
