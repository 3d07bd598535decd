template <typename T>
__device__ __forceinline__ T rowTimesColumn(const T* row, const T* col, int length, int pitch)
{
	T result = T(0);
	for (int i = 0; i < length; i++)
		result += row[i] * col[i * pitch];
	return result;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
	unsigned int x = blockDim.x * blockIdx.x + threadIdx.x;
	unsigned int y = blockDim.y * blockIdx.y + threadIdx.y;
	if (x < Width && y < Width)
		P[y * Width + x] = rowTimesColumn<float>(M + y * Width, N + x, Width, Width);
}
