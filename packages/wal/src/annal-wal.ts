// What the command `annal-wal` runs, which bin/annal-wal.js starts.
import { runWalTool } from './tools/command.ts'

process.exitCode = await runWalTool(process.argv.slice(2), {
  line: (text) => process.stdout.write(`${text}\n`),
  error: (text) => process.stderr.write(`${text}\n`),
})
