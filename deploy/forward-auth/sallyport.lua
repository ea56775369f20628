-- Asks Sallyport at SALLYPORT_AUTHORIZE whether a request may pass: `http-request lua.sallyport`, then
-- `http-request deny unless { var(txn.sallyport) -m str allow }`, because HAProxy continues after an error in a script.
local authorize = os.getenv("SALLYPORT_AUTHORIZE")

-- Headers of the query and its answer, not of the request.
local own = {
  ["cache-control"] = true,
  ["connection"] = true,
  ["content-length"] = true,
  ["date"] = true,
  ["keep-alive"] = true,
  ["transfer-encoding"] = true,
}
-- Headers of the client that are not sent: the query has its own framing, and the script sets the others.
local not_shown = {
  ["connection"] = true,
  ["content-length"] = true,
  ["expect"] = true,
  ["host"] = true,
  ["keep-alive"] = true,
  ["te"] = true,
  ["transfer-encoding"] = true,
  ["x-forwarded-host"] = true,
  ["x-forwarded-method"] = true,
  ["x-forwarded-uri"] = true,
}

local function values_of(list)
  local values = {}
  local index = 0
  while list ~= nil and list[index] ~= nil do
    values[#values + 1] = list[index]
    index = index + 1
  end
  return values
end

core.register_action("sallyport", { "http-req" }, function(txn)
  local shown = {}
  local fields = txn.http:req_get_headers()
  for name, list in pairs(fields) do
    if not not_shown[name] then
      shown[name] = values_of(list)
    end
  end
  shown["x-forwarded-method"] = { txn.f:method() }
  shown["x-forwarded-uri"] = { txn.f:pathq() }
  shown["x-forwarded-host"] = values_of(fields["host"])

  local answer = core.httpclient():get({ url = authorize, headers = shown, timeout = 5000 })
  if answer.status == 200 then
    for name, list in pairs(answer.headers) do
      if not own[name] then
        txn.http:req_del_header(name)
        for _, value in ipairs(values_of(list)) do
          if value ~= "" then
            txn.http:req_add_header(name, value)
          end
        end
      end
    end
    txn:set_var("txn.sallyport", "allow")
    return
  end

  -- No answer (status 0), or not Sallyport's (a redirect).
  local reply = txn:reply({ status = answer.status >= 400 and answer.status or 503 })
  for name, list in pairs(answer.headers or {}) do
    if not own[name] then
      for _, value in ipairs(values_of(list)) do
        reply:add_header(name, value)
      end
    end
  end
  if answer.status >= 400 and answer.body ~= nil then
    reply:set_body(answer.body)
  end
  txn:done(reply)
end)
