// One row per object.
import type { ListedObject } from '../../api/objects.ts'
import { Table } from '../../parts/table.tsx'
import { json } from '../../show.ts'

export function ObjectTable(props: {
  readonly objects: readonly ListedObject[]
  readonly onShow: (id: string) => void
}) {
  return (
    <Table heads={['Id', 'Meta', 'Filter']} kind="tight objects">
      {props.objects.map((object) => (
        <tr key={object.id}>
          <td class="id-cell">
            <button type="button" class="link mono" onClick={() => props.onShow(object.id)}>
              {object.id}
            </button>
          </td>
          <td class="long">
            {object.meta === undefined
              ? `${object.meta_base64?.length ?? 0} characters of base64${object.meta_limit ? ', too long to unpack here' : ''}`
              : json(object.meta, 120)}
          </td>
          <td class="long">{json(object.filter, 120)}</td>
        </tr>
      ))}
    </Table>
  )
}
