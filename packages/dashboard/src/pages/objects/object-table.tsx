// One line per object.
import type { ListedObject } from '../../api/objects.ts'
import { json } from '../../show.ts'

export function ObjectTable(props: {
  readonly objects: readonly ListedObject[]
  readonly onShow: (id: string) => void
}) {
  return (
    <div class="table-wrap">
      <table class="tight objects">
        <thead>
          <tr>
            <th>Id</th>
            <th>Meta</th>
            <th>Filter</th>
          </tr>
        </thead>
        <tbody>
          {props.objects.map((object) => (
            <tr key={object.id}>
              <td class="id-cell">
                <button type="button" class="link mono" onClick={() => props.onShow(object.id)}>
                  {object.id}
                </button>
              </td>
              <td class="long">
                {object.meta === undefined
                  ? `${object.meta_base64?.length ?? 0} characters of base64`
                  : json(object.meta, 120)}
              </td>
              <td class="long">{json(object.filter, 120)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
