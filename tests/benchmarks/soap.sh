# Sourced: the two vSphere reads of the guide's checks with nothing but curl.
# Needs VC_URL VC_CA VC_USER VC_PASSWORD_FILE and a writable JAR.
soap() { curl -sS --cacert "$VC_CA" -b "$JAR" -c "$JAR" -H 'Content-Type: text/xml' -H 'SOAPAction: urn:vim25/6.5' --data-binary @- "$VC_URL" <<< "<?xml version=\"1.0\"?><soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><soapenv:Body>$1</soapenv:Body></soapenv:Envelope>"; }
value() { sed -nE "s/.*<returnval[^>]*>([^<]*)<.*/\1/p" | head -n 1; }
login() { soap "<Login xmlns=\"urn:vim25\"><_this type=\"SessionManager\">SessionManager</_this><userName>$VC_USER</userName><password>$(cat "$VC_PASSWORD_FILE")</password></Login>" | grep -q LoginResponse; }
find_path() { soap "<FindByInventoryPath xmlns=\"urn:vim25\"><_this type=\"SearchIndex\">SearchIndex</_this><inventoryPath>$1</inventoryPath></FindByInventoryPath>" | value; }
kernel() { # host moid, setting -> Configured Runtime
  local executer
  executer=$(soap "<RetrieveManagedMethodExecuter xmlns=\"urn:vim25\"><_this type=\"HostSystem\">$1</_this></RetrieveManagedMethodExecuter>" | value)
  soap "<ExecuteSoap xmlns=\"urn:vim25\"><_this type=\"ReflectManagedMethodExecuter\">$executer</_this><moid>ha-cli-handler-system-settings-kernel</moid><version>urn:vim25/5.0</version><method>vim.EsxCLI.system.settings.kernel.list</method><argument><name>option</name><val>&lt;option&gt;$2&lt;/option&gt;</val></argument></ExecuteSoap>" |
    sed -nE 's/.*Configured(&gt;|>)([^&<]*).*Runtime(&gt;|>)([^&<]*).*/\2 \4/p'
}
