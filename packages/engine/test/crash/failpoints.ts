// Named points of a life at which a crash matters; each is just before the disk call that matches. They are detected from the disk calls of
// the engine, so the engine contains no test code.
import type { DurableCall } from './watched-vfs.ts'

export const failpoints: Readonly<Record<string, (call: DurableCall) => boolean>> = {
  'before a record is written': ({ call, path }) => call === 'write' && path.endsWith('.wal'),
  'after a record is written, before it is synced': ({ call, path }) => call === 'datasync' && path.endsWith('.wal'),
  'after a record is synced, before it is applied': ({ call, path }) => call === 'write' && path.endsWith('TIP'),
  'between the files of a snapshot': ({ call, path }) => call === 'create' && /tmp-.*part-0\.snap$/.test(path),
  'before the changes of a part are written': ({ call, path }) => call === 'create' && /-changes-\d+\.snap$/.test(path),
  'before an earlier file of a part is linked': ({ call, path }) => call === 'link' && /tmp-.*part-1\.snap$/.test(path),
  'before the manifest': ({ call, path }) => call === 'create' && path.includes('manifest.json'),
  'before a checkpoint gets its name': ({ call, path }) => call === 'rename' && /checkpoints\/\d{20}-/.test(path),
  'after a checkpoint got its name': ({ call, path }) => call === 'sync' && path.endsWith('checkpoints'),
  'before an old checkpoint is removed': ({ call, path }) => call === 'removeTree' && path.includes('checkpoints/tmp-'),
  'while a rebuild makes its files': ({ call, path }) => call === 'write' && /generation-[1-9]/.test(path),
  'before files of before a rebuild are removed': ({ call, path }) => call === 'remove' && path.includes('originals/'),
  'while a start makes a new tail': ({ call, path }) => call === 'create' && path.includes('.wal'),
}
