// The commands of a cluster.
import { type Command, Option } from 'commander'
import type { Terminal } from './terminal.ts'

export function describeCluster(program: Command, terminal: Terminal, ends: (code: number) => void): void {
  const cluster = program
    .command('cluster')
    .description('show the nodes of a cluster, and hand the lead to another one')
  const commands = () => import('./commands/cluster.ts')
  node(cluster.command('status'))
    .description('list the nodes with their roles and lag, as the server knows them')
    .action(async (options) => ends(await (await commands()).clusterStatus(options, terminal)))
  node(cluster.command('step-down'))
    .description('make the server, which leads, hand the lead to another node')
    .action(async (options) => ends(await (await commands()).clusterStepDown(options, terminal)))
}

function node(command: Command): Command {
  return command
    .addOption(new Option('-s, --server <url>', 'URL of a node').env('NDD_SERVER_URL').default('http://127.0.0.1:8080'))
    .addOption(new Option('--token <token>', 'token of the server, or the root token').env('ANNAL_TOKEN'))
    .option('--json', 'print one JSON document instead of text')
}
