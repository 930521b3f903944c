// Events of another log, committed once more: how a log is replayed into another engine as a benchmark.
import { Catalog } from '../catalog/catalog.ts'
import type { EventDraft } from '../commit.ts'
import { EngineError } from '../errors.ts'
import { isCatalogEvent } from '../events/codec.ts'
import type { CatalogEvent, Event } from '../events/event.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { LocalCollection } from './collection.ts'

type CatalogDraft = Extract<EventDraft, { kind: CatalogEvent['kind'] }>

export interface RepeatHost {
  readonly catalog: Catalog
  loaded(id: number): LocalCollection | undefined
  /** Makes the draft when every catalog event before it is applied, and lets no other in until it is applied itself. */
  commitAlone(makeDraft: () => CatalogDraft): Promise<Acknowledgement>
  checkOpen(): void
}

export async function repeatEvent(host: RepeatHost, event: Event): Promise<Acknowledgement> {
  host.checkOpen()
  if (isCatalogEvent(event)) {
    return host.commitAlone(() => {
      checkFits(host.catalog, event)
      return event
    })
  }
  const collection = host.loaded(event.collectionId)
  if (!collection) {
    const details = { field: 'collectionId', value: event.collectionId }
    throw new EngineError('collection_not_found', `there is no collection number ${event.collectionId}`, details)
  }
  return event.kind === 'collection-rebuilt' ? collection.repeatRebuild(event.fields) : collection.repeat(event)
}

/** The catalog takes an event of its own making without asking; this one was made for another. */
function checkFits(catalog: Catalog, event: CatalogEvent): void {
  const details = { field: 'event', value: event.kind }
  if (event.kind === 'collection-restored')
    throw new EngineError('invalid_argument', 'what was restored from a backup is not in the log', details)
  try {
    new Catalog(catalog.state()).apply(catalog.lsn + 1, event)
  } catch (cause) {
    const message = `the event does not fit what exists here: ${(cause as Error).message}`
    throw new EngineError('invalid_argument', message, details, { cause })
  }
}
