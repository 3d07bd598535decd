#define BLOCK_SIZE 512
__global__ void reduceKernel(float *input, float *output, int len) {
	__shared__ float partialSum[2 * BLOCK_SIZE];
	unsigned int t = threadIdx.x;
	unsigned int start = 2 * blockIdx.x*BLOCK_SIZE;
	partialSum[t] = input[start + t];
	partialSum[BLOCK_SIZE + t] = input[start + BLOCK_SIZE + t];
	for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2)
	{
		__syncthreads();
		if (t % stride == 0)
			partialSum[2 * t] += partialSum[2 * t + stride];
	}
	if (t == 0)
		output[blockIdx.x] = partialSum[0];
}
