#define BLOCK_SIZE 128
__global__ void reduceKernel(float *d_in, float *d_out, int n)
{
	__shared__ float sm[BLOCK_SIZE * 2];
	for (int j = threadIdx.x; j < 2 * BLOCK_SIZE; j += blockDim.x)
	{
		int g = blockIdx.x * 2 * BLOCK_SIZE + j;
		sm[j] = (g < n) ? d_in[g] : 0.f;
	}
	__syncthreads();
	int live = BLOCK_SIZE;
	while (live > 0)
	{
		if (threadIdx.x < live) sm[threadIdx.x] = sm[threadIdx.x] + sm[threadIdx.x + live];
		live = live / 2;
		__syncthreads();
	}
	if (0 == threadIdx.x) d_out[blockIdx.x] = sm[0];
}
