// The fields, size and cost of a collection, the recall of its index, and maintenance actions.

import { href } from '../../address.ts'
import { type Collection, type Field, type GraphParams, hasGraph, isText } from '../../api/collections.ts'
import { Badge, Facts, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'
import { Table } from '../../parts/table.tsx'
import { count, dateTime } from '../../show.ts'
import type { CollectionTab } from '../collection-tab.ts'
import { Maintenance } from './maintenance.tsx'
import { Memory } from './memory.tsx'
import { RecallCheck } from './recall-check.tsx'
import { StatedRecall } from './stated-recall.tsx'

export function Overview({ collection, again }: CollectionTab) {
  return (
    <div class="stack">
      {collection.reason && <Failure error={new Error(collection.reason)} />}
      <Fields collection={collection} />
      <div class="grid">
        <div class="stack">
          <Memory collection={collection} />
          <Panel title="Facts">
            <Facts
              facts={[
                ['Objects', count(collection.total_elements)],
                ['Created', dateTime(collection.created_at * 1_000)],
                [
                  'Newest event',
                  <a href={href(['log'], { collection: collection.name })}>LSN {count(collection.lsn)}</a>,
                ],
                ['State', collection.condition],
              ]}
            />
          </Panel>
        </div>
        <div class="stack">
          <StatedRecall collection={collection} again={again} />
          <RecallCheck collection={collection} />
          <Maintenance collection={collection} again={again} />
        </div>
      </div>
    </div>
  )
}

const kinds = { vector: 'dense', multi_vector: 'multi-vector', sparse: 'sparse', text: 'text' } as const

function Fields({ collection }: { readonly collection: Collection }) {
  return (
    <Panel flush title="Fields">
      <Table
        heads={[
          'Name',
          'Kind',
          { name: 'Dimension', right: true },
          'Distance',
          'Precision, words',
          { name: 'M', right: true },
          { name: 'ef_con', right: true },
          { name: 'Values', right: true },
        ]}
      >
        {collection.fields.map((field) => (
          <tr key={field.name}>
            <td>
              <a href={href(['collections', collection.name, 'search'])}>
                <strong>
                  <Name text={field.name} />
                </strong>
              </a>
            </td>
            <td>
              <Badge kind={hasGraph(field) ? 'accent' : undefined}>{kinds[field.type]}</Badge>
            </td>
            <td class="right">{isText(field) ? '–' : dimensionText(field.params.dimension)}</td>
            <td>{distanceText(field)}</td>
            <td>{kindText(field)}</td>
            <td class="right">{hasGraph(field) ? field.params.M : '–'}</td>
            <td class="right">{hasGraph(field) ? field.params.ef_con : '–'}</td>
            <td class="right">{count(field.element_count)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function distanceText(field: Field): string {
  if (hasGraph(field)) return field.params.space_type
  return isText(field) ? 'BM25' : 'dot product'
}

function kindText(field: Field): string {
  if (hasGraph(field)) return precisionText(field.params)
  if (!isText(field)) return `weights: ${field.sparse_model}`
  const { language, analyzer, k1, b } = field.params
  return `language ${language}, analyzer ${analyzer}, k1 ${k1}, b ${b}`
}

function precisionText({ precision, keep_originals: kept, embed }: GraphParams): string {
  const made = embed === undefined ? [] : [`made by ${embed.provider} of ${embed.from}`]
  return [precision, ...(kept === false ? ['originals not kept'] : []), ...made].join(', ')
}

/** A sparse field without a dimension accepts any 32-bit index. */
function dimensionText(dimension: number | undefined): string {
  return dimension === undefined || dimension === 2 ** 32 ? 'any' : count(dimension)
}
