//!tilelab block=(16,16) grid=(ceil(Width/16), ceil(Height/16)) tile=16
template <class ElTp, int T>
__device__ void coalescedTranspose(ElTp* A, ElTp* B, int heightA, int widthA) {
  __shared__ ElTp tile[T][T + 1];
  int x = blockIdx.x * T + threadIdx.x;
  int y = blockIdx.y * T + threadIdx.y;
  if (x < widthA && y < heightA) tile[threadIdx.y][threadIdx.x] = A[y * widthA + x];
  __syncthreads();
  x = blockIdx.y * T + threadIdx.x;
  y = blockIdx.x * T + threadIdx.y;
  if (x < heightA && y < widthA) B[y * heightA + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
  coalescedTranspose<float, 16>(In, Out, Height, Width);
}
