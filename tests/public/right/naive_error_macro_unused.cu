#ifndef GPU_ERR_H
#define GPU_ERR_H
#include <stdio.h>
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
#endif

#define DIM 16

__global__ void MatrixMulKernel(float *Ad, float *Bd, float *Cd, int width)
{
	int tx = blockIdx.x*DIM+threadIdx.x;
	int ty = blockIdx.y*DIM+threadIdx.y;
	float Cvalue = 0;
	if(tx<width && ty<width)
	{
		for(int k=0;k<width;++k)
			Cvalue += Ad[ty*width+k]*Bd[k*width+tx];
		Cd[ty*width+tx] = Cvalue;
	}
}
