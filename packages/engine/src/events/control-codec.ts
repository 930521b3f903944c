// Encodes and decodes events of databases, tokens, and settings.
import { assert } from '../errors.ts'
import { choiceOf, numberOf } from '../model/choices.ts'
import { databaseTypes, type TokenFacts, tokenKinds } from '../model/database-facts.ts'
import type { ControlEvent, Event } from '../model/event.ts'

const controlKinds: ReadonlySet<string> = new Set<ControlEvent['kind']>([
  'database-created',
  'database-dropped',
  'database-changed',
  'token-put',
  'token-dropped',
  'setting-put',
  'cursor-put',
  'cursor-dropped',
  'request-answered',
])

/** Whether events of this kind change databases, tokens, or settings. */
export function isControlKind(kind: Event['kind']): kind is ControlEvent['kind'] {
  return controlKinds.has(kind)
}

/** Whether an event changes databases, tokens, or settings. */
export function isControlEvent(event: Event): event is ControlEvent {
  return isControlKind(event.kind)
}

/** The protobuf message of an event. */
export function controlToMessage(event: ControlEvent): Record<string, unknown> {
  switch (event.kind) {
    case 'database-created':
      return {
        ...event,
        type: numberOf(databaseTypes, event.type),
        token: event.token ? [tokenToMessage(event.token)] : [],
      }
    case 'database-changed':
      return { ...event, type: numberOf(databaseTypes, event.type) }
    case 'token-put':
      return { ...event, token: tokenToMessage(event.token) }
    default:
      return { ...event }
  }
}

/** The result of decode: plain values by field name. The casts below narrow it to the types in schema.ts. */
type Message = { readonly [field: string]: unknown }

/** The event of a protobuf message. */
export function controlFromMessage(kind: ControlEvent['kind'], message: Message): ControlEvent {
  const timeMs = message.timeMs as number
  const databaseId = message.databaseId as number
  const name = message.name as string
  switch (kind) {
    case 'database-created': {
      const [token] = message.token as readonly Message[]
      const type = choiceOf(databaseTypes, message.type as number)
      return { kind, timeMs, databaseId, name, type, ...(token && { token: tokenFromMessage(token) }) }
    }
    case 'database-dropped':
      return { kind, timeMs, databaseId, collectionIds: message.collectionIds as number[] }
    case 'database-changed': {
      const type = choiceOf(databaseTypes, message.type as number)
      return { kind, timeMs, databaseId, type, active: message.active as boolean }
    }
    case 'token-put':
      return { kind, timeMs, databaseId, token: tokenFromMessage(message.token as Message) }
    case 'token-dropped':
      return { kind, timeMs, databaseId, name }
    case 'setting-put':
      return { kind, timeMs, key: message.key as string, value: message.value as string }
    case 'cursor-put':
      return { kind, timeMs, databaseId, name, lsn: message.lsn as number }
    case 'cursor-dropped':
      return { kind, timeMs, databaseId, name }
    case 'request-answered':
      return { kind, timeMs }
  }
}

function tokenToMessage({ name, kind, hash }: TokenFacts): Record<string, unknown> {
  return { name, kind: numberOf(tokenKinds, kind), hash: Buffer.from(hash, 'hex') }
}

function tokenFromMessage(message: Message): TokenFacts {
  const hash = message.hash as Uint8Array
  assert(hash.length === 32, 'the hash of a token has 32 bytes')
  return {
    name: message.name as string,
    kind: choiceOf(tokenKinds, message.kind as number),
    hash: Buffer.from(hash).toString('hex'),
  }
}
