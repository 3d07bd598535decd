#define IDX2C(i, j, ld) (((j) * (ld)) + (i))
#define IDX2R(i, j, ld) (((i) * (ld)) + (j))
__global__ void MatrixMulKernel(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && j < n)
	{
		float t = 0;
		for (int l = 0; l < n; l++) t += a[IDX2R(i, l, n)] * b[IDX2C(l, j, n)];
		c[IDX2R(i, j, n)] = t;
	}
}
