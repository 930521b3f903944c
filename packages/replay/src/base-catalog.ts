// What exists besides collections as of a record, as the fewest events that recreate it: databases, tokens, aliases, and cursors. Without
// these, a window could not delete what was created before it.
import type { Event } from '@annal/engine/events'

type Control = Exclude<Event, { readonly collectionId: number }>

export class BaseCatalog {
  /** The newest event of each, in the order in which they were created. */
  readonly #databases = new Map<string, Control>()
  readonly #names = new Map<string, Control>()

  note(event: Event): void {
    switch (event.kind) {
      case 'database-created': {
        const { token, ...rest } = event
        const { databaseId, timeMs } = event
        this.#databases.set(`${databaseId}/database`, rest)
        if (token)
          this.#databases.set(tokenKey(databaseId, token.name), { kind: 'token-put', timeMs, databaseId, token })
        break
      }
      case 'database-changed':
        this.#databases.set(`${event.databaseId}/changed`, event)
        break
      case 'database-dropped':
        for (const all of [this.#databases, this.#names])
          for (const key of all.keys()) if (key.startsWith(`${event.databaseId}/`)) all.delete(key)
        break
      case 'token-put':
        this.#databases.set(tokenKey(event.databaseId, event.token.name), event)
        break
      case 'token-dropped':
        this.#databases.delete(tokenKey(event.databaseId, event.name))
        break
      case 'alias-put':
        this.#names.set(`${event.databaseId}/alias ${event.name}`, event)
        break
      case 'alias-dropped':
        this.#names.delete(`${event.databaseId}/alias ${event.name}`)
        break
      case 'cursor-put':
        this.#names.set(`${event.databaseId}/cursor ${event.name}`, event)
        break
      case 'cursor-dropped':
        this.#names.delete(`${event.databaseId}/cursor ${event.name}`)
        break
      case 'collection-promoted':
        for (const [key, put] of this.#names)
          if (put.kind === 'alias-put' && put.targetId === event.replacedId)
            this.#names.set(key, { ...put, targetId: event.promotedId })
        break
      default:
    }
  }

  /** Databases and their tokens. */
  databases(): Iterable<Event> {
    return this.#databases.values()
  }

  /** Aliases, whose collections must exist, and cursors. */
  names(): Iterable<Event> {
    return this.#names.values()
  }
}

function tokenKey(databaseId: number, name: string): string {
  return `${databaseId}/token ${name}`
}
