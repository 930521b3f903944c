// One row per object, with its texts.
import { type Field, isText } from '../../api/collections.ts'
import type { ListedObject } from '../../api/objects.ts'
import { Json, Name } from '../../parts/stored.tsx'
import { Table } from '../../parts/table.tsx'
import { Excerpt } from '../../parts/texts.tsx'
import { count } from '../../show.ts'

export function ObjectTable(props: {
  readonly objects: readonly ListedObject[]
  readonly fields: readonly Field[]
  readonly onShow: (id: string) => void
}) {
  const texts = props.fields.filter(isText)
  return (
    <Table heads={['Id', ...texts.map(({ name }) => name), 'Meta', 'Filter']} kind="tight objects">
      {props.objects.map((object) => (
        <tr key={object.id}>
          <td class="id-cell">
            <button type="button" class="link mono" onClick={() => props.onShow(object.id)}>
              <Name text={object.id} />
            </button>
          </td>
          {texts.map(({ name }) => (
            <td key={name} class="long">
              <Text value={object.fields?.[name]} />
            </td>
          ))}
          <td class="long">
            {object.meta === undefined ? (
              `${count(object.meta_base64?.length ?? 0)} characters of base64${object.meta_limit ? ', too long to unpack here' : ''}`
            ) : (
              <Json value={object.meta} max={120} />
            )}
          </td>
          <td class="long">
            <Json value={object.filter} max={120} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Text({ value }: { readonly value: NonNullable<ListedObject['fields']>[string] | undefined }) {
  return typeof value === 'string' ? <Excerpt text={value} max={140} /> : <span class="muted">–</span>
}
