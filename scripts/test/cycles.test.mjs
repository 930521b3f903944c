// The check of import cycles: of values, of types and of dynamic imports, between files and between folders, each reported once with a
// shortest cycle.
import t from 'tap'
import { cycleFaults, folderCycleFaults } from '../check/cycles.ts'

const file = (path, ...specifiers) => ({
  path,
  imports: specifiers.map((specifier) => ({ specifier, typeOnly: specifier.endsWith('#type') })).map(plain),
})
const plain = ({ specifier, typeOnly }) => ({ specifier: specifier.replace('#type', ''), typeOnly })

t.test('files without a cycle have no faults, and modules outside do not count', async (t) => {
  t.strictSame(
    cycleFaults([file('a/x.ts', './y.ts', 'node:fs', '../b/z.ts'), file('a/y.ts'), file('b/z.ts', '../a/y.ts')]),
    [],
  )
})

t.test('a cycle of types is a cycle', async (t) => {
  const faults = cycleFaults([file('a/x.ts', './y.ts'), file('a/y.ts', './x.ts#type')])
  t.strictSame(faults, ['import cycle: a/x.ts -> a/y.ts -> a/x.ts'])
})

t.test('a file that imports itself is a cycle', async (t) => {
  t.strictSame(cycleFaults([file('a/x.ts', './x.ts')]), ['import cycle: a/x.ts -> a/x.ts'])
})

t.test('extensions and index files may be left out', async (t) => {
  const faults = cycleFaults([file('a/x.tsx', './b'), file('a/b/index.ts', '../x')])
  t.strictSame(faults, ['import cycle: a/b/index.ts -> a/x.tsx -> a/b/index.ts'])
})

t.test(
  'of several cycles in a group the shortest through its first file is reported, and each group once',
  async (t) => {
    const faults = cycleFaults([
      file('a/1.ts', './2.ts', './3.ts'),
      file('a/2.ts', './3.ts'),
      file('a/3.ts', './1.ts'),
      file('b/1.ts', './2.ts'),
      file('b/2.ts', './1.ts'),
      file('b/3.ts', './1.ts'),
    ])
    t.strictSame(faults, ['import cycle: a/1.ts -> a/3.ts -> a/1.ts', 'import cycle: b/1.ts -> b/2.ts -> b/1.ts'])
  },
)

t.test('folders next to each other that import each other are a cycle, even if no file is in one', async (t) => {
  const faults = folderCycleFaults([
    file('src/a/1.ts', '../b/1.ts'),
    file('src/b/1.ts'),
    file('src/b/deep/2.ts', '../../a/2.ts#type'),
    file('src/a/2.ts'),
  ])
  t.strictSame(faults, [
    'folder cycle: src/a -> src/b -> src/a (src/a/1.ts -> src/b/1.ts, src/b/deep/2.ts -> src/a/2.ts)',
  ])
})

t.test('folders inside a folder are compared with each other, and not with the files next to them', async (t) => {
  const files = [
    file('src/a/field.ts', './dense/1.ts', './sparse/1.ts'),
    file('src/a/dense/1.ts', '../field.ts#type'),
    file('src/a/sparse/1.ts'),
  ]
  t.strictSame(folderCycleFaults(files), [])
  const [fault, ...others] = folderCycleFaults([
    ...files,
    file('src/a/dense/2.ts', '../sparse/1.ts'),
    file('src/a/sparse/2.ts', '../dense/1.ts'),
  ])
  t.match(fault, /^folder cycle: src\/a\/dense -> src\/a\/sparse -> src\/a\/dense \(/)
  t.strictSame(others, [])
})
