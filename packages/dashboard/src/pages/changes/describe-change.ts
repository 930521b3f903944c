// Descriptions of changes of the feed.
import type { Change } from '../../api/past.ts'
import { count } from '../../show.ts'

/** The kinds to choose from. A newer server may have more. */
export const kinds = [
  'objects-upserted',
  'objects-deleted',
  'filters-replaced',
  'objects-patched',
  'objects-restored',
  'collection-created',
  'collection-dropped',
  'collection-restored',
  'collection-rebuilt',
  'fields-changed',
  'alias-put',
  'alias-dropped',
  'collection-promoted',
] as const

export function describeChange({ kind, objects = [], deleted = [], ...change }: Change): string {
  switch (kind) {
    case 'objects-upserted':
      return `${many(objects.length)} written`
    case 'objects-deleted':
      return `${many(deleted.length)} deleted`
    case 'filters-replaced':
      return `filters of ${many(objects.length)} updated`
    case 'collection-created':
      return 'collection created'
    case 'collection-dropped':
      return 'collection deleted'
    case 'collection-restored':
      return 'collection restored, cloned, or branched'
    case 'collection-rebuilt':
      return 'collection rebuilt'
    case 'fields-changed':
      return 'search settings changed'
    case 'alias-put':
      return `alias ${change.alias ?? ''} set`
    case 'alias-dropped':
      return `alias ${change.alias ?? ''} deleted`
    case 'collection-promoted':
      return `collection promoted; the former one is named ${change.keptAs ?? ''}`
    case 'notice':
      return `the next changes are removed in ${count(change.margin ?? 0)} LSNs`
    default:
      return objects.length + deleted.length === 0 ? kind : `${many(objects.length + deleted.length)} changed`
  }
}

function many(objects: number): string {
  return `${count(objects)} ${objects === 1 ? 'object' : 'objects'}`
}
