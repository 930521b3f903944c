// Descriptions of events.
import type { LogEvent } from '../../api/log.ts'
import { count } from '../../show.ts'

export function describeEvent({ type, objects = 0, fields = [], ...event }: LogEvent): string {
  const many = `${count(objects)} ${objects === 1 ? 'object' : 'objects'}`
  switch (type) {
    case 'objects-upserted':
      return `${many} written`
    case 'objects-deleted':
      return `${many} deleted`
    case 'objects-expired':
      return `${many} expired`
    case 'objects-restored':
      return `${many} restored`
    case 'filters-replaced':
      return `filters of ${many} updated`
    case 'objects-patched':
      return `${many} patched`
    case 'collection-created':
      return `collection created with ${fields.join(', ')}`
    case 'collection-restored':
      return 'collection restored'
    case 'collection-rebuilt':
      return 'collection rebuilt'
    case 'fields-changed':
      return 'search settings changed'
    case 'collection-promoted':
      return `collection promoted; the former one is named ${event.kept_as ?? ''}`
    case 'alias-put':
      return `alias ${event.alias ?? ''} set`
    case 'alias-dropped':
      return `alias ${event.alias ?? ''} deleted`
    case 'collection-dropped':
      return 'collection deleted'
    case 'database-created':
      return 'database created'
    case 'database-dropped':
      return 'database deleted'
    case 'database-changed':
      return `database ${event.active ? 'changed' : 'deactivated'}`
    case 'token-put':
      return `token ${event.token ?? ''} created`
    case 'token-dropped':
      return `token ${event.token ?? ''} deleted`
    case 'setting-put':
      return 'setting changed'
    case 'cursor-put':
      return 'cursor of the change feed moved'
    case 'cursor-dropped':
      return 'cursor of the change feed deleted'
    case 'request-answered':
      return 'request key kept'
  }
}

export type Tone = 'written' | 'deleted' | 'refiltered' | 'changes'

/** The color of an event, here and in the chart. */
export function toneOf({ type }: LogEvent): Tone {
  if (type === 'objects-upserted') return 'written'
  if (type === 'objects-deleted' || type === 'objects-expired') return 'deleted'
  return type === 'filters-replaced' || type === 'objects-patched' ? 'refiltered' : 'changes'
}
