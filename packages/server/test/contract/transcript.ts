// Requests as published clients send them, with the expected replies. A transcript is sent in order to one server. Every step names the
// rows of the contract's tables that it covers.
import type { Test } from 'tap'
import type { Answer, SendOptions } from '../running-app.ts'

export interface Step {
  /** Rows as in rows.ts. */
  readonly rows: readonly string[]
  readonly send: readonly [method: string, path: string, options?: SendOptions]
  /** Additional options that depend on the previous reply. */
  readonly after?: (before: Answer) => SendOptions
  readonly status: number
  /** Media type of the reply; a refusal is always JSON. */
  readonly type?: 'text' | 'json' | 'msgpack' | 'tar' | 'html'
  /** A string is compared exactly, anything else as a pattern. */
  readonly body?: unknown
  /** Repeated until the reply matches, because a job runs in the background. */
  readonly eventually?: object
}

export interface Transcript {
  readonly name: string
  /** Only for a server with one database. */
  readonly plainOnly?: boolean
  readonly steps: readonly Step[]
}

export interface Player {
  send(method: string, path: string, options?: SendOptions): Promise<Answer>
}

const mediaTypes = {
  text: 'text/plain',
  json: 'application/json',
  msgpack: 'application/msgpack',
  tar: 'application/x-tar',
  html: 'text/html',
} as const
const askAgainMs = 20

/** `packed` sends every JSON body as MessagePack; every route must accept both. */
export async function play(t: Test, { steps }: Transcript, player: Player, { packed }: { packed: boolean }) {
  let before: Answer | undefined
  for (const step of steps) {
    const [method, path, given = {}] = step.send
    const options = { ...given, ...(before === undefined ? {} : step.after?.(before)) }
    const { json, ...rest } = options
    const sent = packed && json !== undefined ? { ...rest, msgpack: json } : options
    before = await ask(player, step, [method, path, sent])
    check(t, step, before)
  }
}

async function ask(player: Player, { eventually }: Step, send: Step['send']): Promise<Answer> {
  for (;;) {
    const answer = await player.send(...send)
    if (eventually === undefined || includes(answer.json(), eventually)) return answer
    await new Promise((resolve) => setTimeout(resolve, askAgainMs))
  }
}

function includes(body: Readonly<Record<string, unknown>>, wanted: object): boolean {
  return Object.entries(wanted).every(([key, value]) => body[key] === value)
}

function check(t: Test, step: Step, answer: Answer): void {
  const [method, path] = step.send
  const said = `${method} ${path} (${step.rows.join(', ')})`
  if (answer.status !== step.status) {
    t.fail(`${said} is ${step.status}`, { status: answer.status, body: answer.text.slice(0, 500) })
    return
  }
  const refused = step.status >= 400
  const type = refused ? 'json' : step.type
  if (type !== undefined && answer.text !== '') {
    t.equal(answer.headers.get('content-type')?.split(';')[0], mediaTypes[type], `${said} is ${type}`)
  }
  if (refused) t.match(answer.json(), { error: /./, code: /^[a-z_]+$/, request_id: /./ }, said)
  if (step.eventually !== undefined) t.match(answer.json(), step.eventually, said)
  if (typeof step.body === 'string') t.equal(answer.text, step.body, said)
  else if (step.body instanceof RegExp) t.match(answer.text, step.body, said)
  else if (step.body !== undefined) t.match(type === 'msgpack' ? answer.msgpack() : answer.json(), step.body, said)
  else t.pass(said)
}

/** Removes keys that are undefined, which JSON omits and MessagePack would not. */
export function without(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}
