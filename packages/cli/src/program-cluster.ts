// The commands of a cluster.
import type { Command } from 'commander'
import { served } from './connected.ts'
import { withTokenFile } from './secrets.ts'
import type { Terminal } from './terminal.ts'
import { wholeNumber } from './whole-number.ts'

export function describeCluster(program: Command, terminal: Terminal, ends: (code: number) => void): void {
  program.commandsGroup('Cluster and license:')
  const cluster = program
    .command('cluster')
    .description(
      'show the nodes of a cluster, compare their data, hand over the lead, remove nodes, begin a cluster, and leave it',
    )
  const commands = () => import('./commands/cluster.ts')
  node(cluster.command('status'))
    .description('list the nodes with their roles and lag, as the server knows them')
    .action(async (options) => ends(await (await commands()).clusterStatus(options, terminal)))
  node(cluster.command('verify'))
    .description('compare the data of all nodes, collection by collection; exits with 1 if a node differs')
    .option('--timeout <seconds>', 'how long to wait for digests of the same records', wholeNumber, 60)
    .action(async (options) => {
      const { clusterVerify } = await import('./commands/cluster-verify.ts')
      ends(await clusterVerify(options, terminal))
    })
  node(cluster.command('step-down'))
    .description('make the server hand the lead to another node')
    .action(async (options) => ends(await (await commands()).clusterStepDown(options, terminal)))
  const nodeCommands = () => import('./commands/cluster-nodes.ts')
  node(cluster.command('remove'))
    .argument('<node>', 'name of a node that is not running, or of the server itself')
    .description('remove a node from the cluster, so that the log is not kept for it')
    .action(async (name, options) => ends(await (await nodeCommands()).clusterRemove(name, options, terminal)))
  node(cluster.command('admit'))
    .argument('<node>', 'name of a node that was removed')
    .description('allow a removed node to join again')
    .action(async (name, options) => ends(await (await nodeCommands()).clusterAdmit(name, options, terminal)))
  const directories = () => import('./commands/cluster-directory.ts')
  json(cluster.command('init'))
    .description('make a data directory the first node of the new cluster that the settings NDD_CLUSTER_* name')
    .requiredOption('--from <directory>', 'data directory of a single server that is stopped')
    .action(async (options) => ends(await (await directories()).clusterInit(options, terminal)))
  json(cluster.command('leave'))
    .description('turn the data directory of a stopped node into that of a single server')
    .argument('<directory>', 'data directory of the node')
    .action(async (dir, options) => ends(await (await directories()).clusterLeave(dir, options, terminal)))
}

function node(command: Command): Command {
  return withTokenFile(served(json(command)))
}

function json(command: Command): Command {
  return command.option('--json', 'print one JSON document instead of text')
}
