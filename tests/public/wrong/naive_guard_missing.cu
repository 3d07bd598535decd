__global__ void MatrixMulKernel(float* Md, float* Nd, float* Pd, int Width)
{
// row and column of the element
int Row = blockIdx.y*16 + threadIdx.y;
int Col = blockIdx.x*16 + threadIdx.x;
float Pvalue = 0;
for (int k = 0; k < Width; ++k)
Pvalue += Md[Row*Width+k] * Nd[k*Width+Col];
Pd[Row*Width+Col] = Pvalue;
}
