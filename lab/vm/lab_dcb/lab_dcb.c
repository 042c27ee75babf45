// SPDX-License-Identifier: GPL-2.0-or-later
/* A network device without a cable that keeps what DCB's netlink sets, so that the real dcb and mlnx_qos have a kernel to
 * talk to. Of DSCP entries it keeps one per DSCP, as mlx5_core does: a new priority takes the place of the old one.
 */
#include <linux/dcbnl.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <net/dcbnl.h>

#define DSCPS 64

/* As a virtual function: no DSCP table. */
static bool refuse;
module_param(refuse, bool, 0644);

struct lab_dcb {
	struct ieee_pfc pfc;
	struct ieee_ets ets;
	struct ieee_maxrate rates;
	struct dcbnl_buffer buffer;
	u8 priority[DSCPS];
	bool mapped[DSCPS];
};

static int get_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	*pfc = ((struct lab_dcb *)netdev_priv(dev))->pfc;
	return 0;
}

static int set_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct lab_dcb *lab = netdev_priv(dev);

	lab->pfc.pfc_en = pfc->pfc_en;
	lab->pfc.delay = pfc->delay;
	return 0;
}

static int get_ets(struct net_device *dev, struct ieee_ets *ets)
{
	*ets = ((struct lab_dcb *)netdev_priv(dev))->ets;
	return 0;
}

static int set_ets(struct net_device *dev, struct ieee_ets *ets)
{
	struct lab_dcb *lab = netdev_priv(dev);

	lab->ets = *ets;
	lab->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	return 0;
}

/* mlnx_qos does not go on without these. */
static int get_rates(struct net_device *dev, struct ieee_maxrate *rates)
{
	*rates = ((struct lab_dcb *)netdev_priv(dev))->rates;
	return 0;
}

static int get_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	*buffer = ((struct lab_dcb *)netdev_priv(dev))->buffer;
	return 0;
}

static int foreign(const struct dcb_app *app)
{
	if (refuse)
		return -EOPNOTSUPP;
	return app->selector != IEEE_8021QAZ_APP_SEL_DSCP || app->protocol >= DSCPS ? -EINVAL : 0;
}

static int set_app(struct net_device *dev, struct dcb_app *app)
{
	struct lab_dcb *lab = netdev_priv(dev);
	struct dcb_app old = *app;
	int error = foreign(app);

	if (error)
		return error;
	if (lab->mapped[app->protocol]) {
		old.priority = lab->priority[app->protocol];
		dcb_ieee_delapp(dev, &old);
	}
	lab->mapped[app->protocol] = true;
	lab->priority[app->protocol] = app->priority;
	return dcb_ieee_setapp(dev, app);
}

static int del_app(struct net_device *dev, struct dcb_app *app)
{
	struct lab_dcb *lab = netdev_priv(dev);
	int error = foreign(app);

	if (error)
		return error;
	if (!lab->mapped[app->protocol] || lab->priority[app->protocol] != app->priority)
		return -ENOENT;
	lab->mapped[app->protocol] = false;
	return dcb_ieee_delapp(dev, app);
}

static u8 get_dcbx(struct net_device *dev)
{
	return DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
}

static u8 set_dcbx(struct net_device *dev, u8 mode)
{
	return mode != get_dcbx(dev);
}

static const struct dcbnl_rtnl_ops dcb_ops = {
	.ieee_getpfc = get_pfc, .ieee_setpfc = set_pfc,
	.ieee_getets = get_ets, .ieee_setets = set_ets,
	.ieee_getmaxrate = get_rates, .dcbnl_getbuffer = get_buffer,
	.ieee_setapp = set_app, .ieee_delapp = del_app,
	.getdcbx = get_dcbx, .setdcbx = set_dcbx,
};

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops net_ops = { .ndo_start_xmit = drop };
static struct net_device *device;

static int __init lab_dcb_init(void)
{
	struct lab_dcb *lab;
	int each, error;

	device = alloc_etherdev(sizeof(*lab));
	if (!device)
		return -ENOMEM;
	strscpy(device->name, "dcb0", IFNAMSIZ);
	eth_hw_addr_random(device);
	device->netdev_ops = &net_ops;
	device->dcbnl_ops = &dcb_ops;
	lab = netdev_priv(device);
	lab->pfc.pfc_cap = IEEE_8021QAZ_MAX_TCS;
	lab->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	for (each = 0; each < IEEE_8021QAZ_MAX_TCS; each++) {
		lab->ets.prio_tc[each] = each;
		lab->ets.tc_tsa[each] = IEEE_8021QAZ_TSA_VENDOR;
	}
	error = register_netdev(device);
	if (error)
		free_netdev(device);
	return error;
}

static void __exit lab_dcb_exit(void)
{
	unregister_netdev(device);
	free_netdev(device);
}

module_init(lab_dcb_init);
module_exit(lab_dcb_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("SIMULATED: a network device that keeps settings of DCB");
