#define BLOCK_SIZE 256
__global__ void reduceKernel(float *in, float *out, int size)
{
	__shared__ float partialSum[2 * BLOCK_SIZE];
	unsigned int t = threadIdx.x;
	unsigned int start = 2 * blockIdx.x * blockDim.x;
	if(start + t < size) partialSum[t] = in[start + t];
	else partialSum[t] = 0.0f;
	if(start + blockDim.x + t < size) partialSum[blockDim.x + t] = in[start + blockDim.x + t];
	else partialSum[blockDim.x + t] = 0.0f;
	for (int stride = blockDim.x; stride > 0; stride /= 2){
		__syncthreads();
		if (t < stride) partialSum[t] += partialSum[t + stride];
	}
	__syncthreads();
	out[blockIdx.x] = partialSum[0];
}
