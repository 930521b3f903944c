// Decision records: each has a number of its own, the same in its file name and its title.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { houseDir } from './source-files.ts'

const folder = 'docs/decisions'

export function decisionFaults(): string[] {
  const faults: string[] = []
  const fileOfNumber = new Map<number, string>()
  for (const file of readdirSync(path.join(houseDir, folder)).sort()) {
    const number = Number(/^(\d{4})-[a-z0-9-]+\.md$/.exec(file)?.[1])
    const title = readFileSync(path.join(houseDir, folder, file), 'utf8').split('\n', 1)[0] ?? ''
    const other = fileOfNumber.get(number)
    if (Number.isNaN(number)) faults.push(`${folder}/${file}: the name is not of the form NNNN-words.md`)
    else if (!title.startsWith(`# ${number}. `))
      faults.push(`${folder}/${file}: the title does not begin with "# ${number}. "`)
    if (other !== undefined) faults.push(`${folder}/${file}: ${other} has the same number`)
    fileOfNumber.set(number, file)
  }
  return faults
}
