{{/*
gateway.yaml. The text is parsed here only for checks. It goes into the ConfigMap unchanged, followed by the keys that it
lacks and the chart knows.
*/}}
{{- define "sallyport.config" -}}
{{- $text := .Values.config | default (.Files.Get "files/gateway.yaml") -}}
{{- if not (trim $text) -}}
{{- fail "config is empty: pass your gateway.yaml with --set-file config=gateway.yaml" -}}
{{- end -}}
{{- $config := fromYaml $text -}}
{{- if hasKey $config "Error" -}}
{{- fail (printf "config is not YAML: %s" $config.Error) -}}
{{- end -}}
{{- if not (regexMatch "(?m)^[a-z_]+:" $text) -}}
{{- fail "config does not look like a gateway.yaml: no key begins at the start of a line" -}}
{{- end -}}
{{- $lines := regexReplaceAll "(?m)^\\s*#.*$" $text "" -}}
{{- with regexFind "(?:client_secret|client_key|session_key)[\"']?:[ \\t]*[\"']?[^ \\t\\r\\n\"'$]" $lines -}}
{{- fail (printf "config contains a secret (%s…), which must not be in a ConfigMap: write ${env:NAME}, and add NAME to secretEnv" (regexFind "^[a-z_]+" .)) -}}
{{- end -}}
{{- $listen := get $config "listen" | toString -}}
{{- $admin := get $config "admin" | toString -}}
{{- $adminToken := "" -}}
{{- if kindIs "map" $config.admin -}}
{{- $admin = get $config.admin "listen" | toString -}}
{{- $adminToken = get $config.admin "token" | toString -}}
{{- end -}}
{{- range $key, $said := dict "listen" $listen "admin" $admin -}}
{{- if regexMatch "^(127\\.|localhost|\\[::1\\])" $said -}}
{{- fail (printf "config.%s is a loopback address, which neither clients nor probes can reach: remove it" $key) -}}
{{- end -}}
{{- $port := ternary $.Values.ports.http $.Values.ports.admin (eq $key "listen") -}}
{{- if and (regexMatch ":[0-9]+$" $said) (not (contains "$" $said)) (not (hasSuffix (printf ":%v" $port) $said)) -}}
{{- fail (printf "config.%s is %s, but its port in ports is %v: remove it" $key $said $port) -}}
{{- end -}}
{{- end -}}
{{- with $config.front_door -}}
{{- $said := get . "listen" | toString -}}
{{- if not (eq $said (printf "0.0.0.0:%v" $.Values.ports.frontDoor)) -}}
{{- fail (printf "config.front_door.listen is %s, which its Service cannot reach: write 0.0.0.0:%v" $said $.Values.ports.frontDoor) -}}
{{- end -}}
{{- if and (include "sallyport.isReplicated" $) (not (or $config.shared $.Values.shared.existingSecret)) -}}
{{- fail "several replicas of a front door need one store, or each refuses the sign-ins of the others: name a Secret in shared.existingSecret" -}}
{{- end -}}
{{- end -}}
{{- if or (eq $admin "off") (eq $admin "false") -}}
{{- fail "config.admin is off, but the probes of Kubernetes need it: remove it" -}}
{{- end -}}
{{- if and $adminToken (not (hasPrefix "$" $adminToken)) -}}
{{- fail "config.admin.token is a secret, which must not be in a ConfigMap: write ${env:SALLYPORT_ADMIN_TOKEN}, and name a Secret in adminToken.existingSecret" -}}
{{- end -}}
{{- if and .Values.adminToken.existingSecret $admin (not $adminToken) -}}
{{- fail "adminToken names a Secret, but config.admin has no token: write ${env:SALLYPORT_ADMIN_TOKEN} there, or remove config.admin" -}}
{{- end -}}
{{- if not (has (toString ($config.policies | default "./policies")) (list "./policies" "./policies/" "policies" "policies/")) -}}
{{- fail "config.policies must be ./policies, where the chart mounts them" -}}
{{- end -}}
{{- if regexMatch "^[^$]*://[^/$]*@|[?&]sentinel_password=[^$&]" (toString $config.shared) -}}
{{- fail "config.shared contains a password, which must not be in a ConfigMap: name a Secret in shared.existingSecret" -}}
{{- end -}}
{{- $hasKey := or $config.session_key .Values.sessionKey.existingSecret -}}
{{- if and (include "sallyport.isReplicated" .) (not $hasKey) -}}
{{- fail "several replicas need the same session key, or each refuses the sessions of the others: name a Secret in sessionKey.existingSecret" -}}
{{- end -}}
{{- if and (or $config.shared .Values.shared.existingSecret) (not $hasKey) -}}
{{- fail "the shared store needs the session key for encryption: name a Secret in sessionKey.existingSecret" -}}
{{- end -}}
{{- $policies := include "sallyport.policies" . | fromJson -}}
{{- range $config.routes -}}
{{- if and (kindIs "map" .) .policy (not (hasKey $policies (toString .policy))) -}}
{{- fail (printf "route %s uses the policy %s, which is missing: pass it with --set-file policies.%s=policies/%s.yaml" (toString .name) .policy .policy .policy) -}}
{{- end -}}
{{- end -}}
{{- trimSuffix "\n" $text }}
{{ if not (hasKey $config "listen") }}listen: 0.0.0.0:{{ .Values.ports.http }}
{{ end }}{{ if not (hasKey $config "admin") }}admin:
  listen: 0.0.0.0:{{ .Values.ports.admin }}
{{ if .Values.adminToken.existingSecret }}  token: ${env:SALLYPORT_ADMIN_TOKEN}
{{ end }}{{ end }}{{ if and .Values.sessionKey.existingSecret (not (hasKey $config "session_key")) }}session_key: ${env:SESSION_KEY}
{{ end }}{{ if and .Values.shared.existingSecret (not (hasKey $config "shared")) }}shared: ${env:SHARED_URL}
{{ end }}
{{- end -}}
