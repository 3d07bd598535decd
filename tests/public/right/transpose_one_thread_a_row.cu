//!tilelab block=(64) grid=(ceil(Height/64))
__global__ void transposeKernel(float* in, float* out, int rows, int cols) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < rows)
		for (int j = 0; j < cols; j++)
			out[i + j * rows] = in[j + i * cols];
}
