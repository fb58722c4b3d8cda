// Validates conf/kubernetes by the schemas of Kubernetes and KEDA, and checks the references between the objects.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

const MODULES = { v1: 'kubernetes-models/v1', 'keda.sh/v1alpha1': '@kubernetes-models/keda/keda.sh/v1alpha1' };
const faults = [];

function complain(object, text) {
  faults.push(`${object.kind} ${object.metadata?.name}: ${text}`);
}

function documents(file) {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
    if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0].message}`);
    return document.toJS();
  });
}

async function validate(object) {
  const models = await import(MODULES[object.apiVersion] ?? `kubernetes-models/${object.apiVersion}`);
  if (!models[object.kind]) return complain(object, `${object.apiVersion} has no such kind`);
  try {
    new models[object.kind](object).validate();
  } catch (error) {
    complain(object, error.message);
  }
}

function matches(selector, labels) {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

// Each selector finds the pods, and each reference names an object.
function checkReferences(objects) {
  const named = (kind, name) => objects.some((o) => o.kind === kind && o.metadata.name === name);
  const servers = objects.find((o) => o.kind === 'StatefulSet');
  const pod = servers.spec.template;
  const container = pod.spec.containers[0];
  const ports = container.ports.map((port) => port.name);
  for (const object of objects) {
    const selector = object.kind === 'Service' ? object.spec.selector
      : (object.spec?.podSelector ?? object.spec?.selector)?.matchLabels;
    if (selector && !matches(selector, pod.metadata.labels)) complain(object, 'the selector does not match the pods');
    for (const port of object.kind === 'Service' ? object.spec.ports : [])
      if (!ports.includes(port.targetPort)) complain(object, `the container has no port ${port.targetPort}`);
    for (const secret of object.spec?.secretTargetRef ?? [])
      if (!named('Secret', secret.name)) complain(object, `there is no Secret ${secret.name}`);
    for (const trigger of object.spec?.triggers ?? [])
      if (!named('TriggerAuthentication', trigger.authenticationRef.name)) complain(object, 'no TriggerAuthentication');
  }
  if (!named('Service', servers.spec.serviceName)) complain(servers, 'there is no Service of its name');
  const volumes = [...pod.spec.volumes.map((v) => v.name), ...servers.spec.volumeClaimTemplates.map((v) => v.metadata.name)];
  for (const mount of container.volumeMounts)
    if (!volumes.includes(mount.name)) complain(servers, `there is no volume ${mount.name}`);
}

const objects = process.argv.slice(2).flatMap(documents);
for (const object of objects) await validate(object);
checkReferences(objects);
console.log(faults.join('\n') || `${objects.length} objects are valid`);
process.exit(faults.length > 0 ? 1 : 0);
