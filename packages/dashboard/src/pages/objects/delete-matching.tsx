// Deletes the objects that match a filter, after counting them.
import { count as countObjects, deleteWhere, type Filter } from '../../api/objects.ts'
import { useLoad } from '../../load.ts'
import { TypedConfirmation } from '../../parts/dialog.tsx'
import { tell } from '../../parts/toast.tsx'
import { count } from '../../show.ts'

export function DeleteMatching(props: {
  readonly collection: string
  readonly filter: Filter
  readonly onClose: () => void
  readonly onWritten: () => void
}) {
  const { collection, filter } = props
  const matches = useLoad((signal) => countObjects(collection, filter, { signal }), [collection, filter])
  return (
    <TypedConfirmation
      title="Delete matching objects"
      name={collection}
      action="Delete objects"
      onClose={props.onClose}
      onConfirm={async () => {
        const { deleted } = await deleteWhere(collection, filter)
        tell(`${count(deleted)} objects deleted.`)
        props.onWritten()
      }}
    >
      <p>
        <strong class="num">{matches.kind === 'ready' ? count(matches.value) : '…'}</strong> objects match and will be
        deleted permanently.
      </p>
      <pre class="written">{JSON.stringify(filter)}</pre>
    </TypedConfirmation>
  )
}
