// `npm run bench:text-debian -- FILE`: writes the names and descriptions of the packages that apt knows, by name, as lines of JSON: `id`, `title`, and
// `text`. A package with several versions is written once.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('the name of a file is missing')
const records = execFileSync('apt-cache', ['dumpavail'], { encoding: 'utf8', maxBuffer: 2 ** 30 }).split('\n\n')
const texts = new Map<string, string>()
for (const record of records) {
  const name = /^Package: (.+)$/m.exec(record)?.[1]
  const text = /^Description(?:-en)?: (.+(?:\n .+)*)$/m.exec(record)?.[1]
  if (name !== undefined && text !== undefined && !texts.has(name)) texts.set(name, text.replaceAll(/\s+/g, ' '))
}
const lines = [...texts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, text]) => ({ id, title: id, text }))
writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
console.log(`${lines.length} texts`)
